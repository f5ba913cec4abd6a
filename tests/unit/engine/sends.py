"""An outbox at work on deliveries that a test puts there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Account
from roost.core.deliveries import Delivery
from roost.core.effects import AddDelivery
from roost.engine.outbox import Outbox
from roost.engine.rulebook import Rulebook
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.unit.engine.scenes import HOME, Scene
from tests.waiting import until_all_wait


def outbox(scene: Scene, channel: LoopbackChannel) -> Outbox:
    book = Rulebook(scene.rules)
    return Outbox(scene.store, scene.clock, book, {Account("loopback"): channel}, jitter=lambda: 0.0)


@asynccontextmanager
async def serving(scene: Scene, channel: LoopbackChannel) -> AsyncIterator[None]:
    lease = await scene.store.acquire_lease(HOME)
    async with anyio.create_task_group() as group:
        group.start_soon(outbox(scene, channel).serve, lease, group)
        yield
        await until_all_wait()
        group.cancel_scope.cancel()


async def put(scene: Scene, *deliveries: Delivery) -> None:
    await scene.store.change_session(
        MAIN,
        lambda snapshot: (
            *(() if snapshot.session else (builders.opening(builders.session(), "gen-1"),)),
            *(AddDelivery(delivery=delivery) for delivery in deliveries),
        ),
    )


async def found(scene: Scene, name: str) -> Delivery:
    delivery = await scene.store.delivery(name)
    assert delivery is not None
    return delivery
