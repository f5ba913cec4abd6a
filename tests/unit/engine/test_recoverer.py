from dataclasses import replace

import anyio
import pytest

from roost.core.admission import ChannelPolicy
from roost.core.deliveries import DeliveryKind, DeliveryState
from roost.core.effects import AddDelivery, OweCompletion, QueueRun
from roost.core.errors import Fenced, StoreUnavailable
from roost.core.exchanges import Completion
from roost.core.keys import SessionKey
from roost.core.leases import LEASE_MS, Gateway, Lease
from roost.core.recovery import MAX_AGE_MS
from roost.core.runs import Request, Run
from roost.engine.recoverer import Recoverer
from roost.engine.rulebook import Rulebook
from roost.ports import Recover
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from tests.unit.engine.scenes import HOME, Scene
from tests.waiting import until_all_wait


async def recover(scene: Scene) -> None:
    recoverer = Recoverer(scene.store, scene.clock, Rulebook(scene.rules))
    await recoverer.recover(await scene.store.acquire_lease(HOME))


async def sending(scene: Scene) -> None:
    """A gateway ended while it sent a message."""
    opening = builders.opening(builders.session(), "gen-1")
    message = AddDelivery(delivery=builders.delivery("d1"))
    await scene.store.change_session(MAIN, lambda snapshot: (opening, message))
    await scene.store.claim_deliveries(await scene.store.acquire_lease(HOME), 1)


class Damaged(MemoryStore):
    """Cannot give runs their fate, for a reason."""

    error: Exception

    async def reap_runs(self, lease: Lease, recover: Recover) -> tuple[Run, ...]:
        raise self.error


async def test_what_cannot_be_recovered_keeps_nothing_else_from_it() -> None:
    scene = Scene()
    scene.store = store = Damaged(scene.clock)
    store.error = StoreUnavailable("full")
    await sending(scene)
    with pytest.raises(StoreUnavailable):
        await recover(scene)
    assert await scene.store.deliveries(DeliveryState.UNCERTAIN, 10)


async def test_a_lost_lease_ends_recovery_at_once() -> None:
    scene = Scene()
    scene.store = store = Damaged(scene.clock)
    store.error = Fenced("taken over")
    await sending(scene)
    with pytest.raises(Fenced):
        await recover(scene)
    assert await scene.store.deliveries(DeliveryState.SENDING, 10)


CHILD = SessionKey.parse("agent:main:subagent:one")


async def left_child(scene: Scene) -> None:
    """A child of the main session was at work when its gateway stopped for good."""
    parent = builders.session()._replace(route=CHAT)
    owed = Completion(child_run="c1", child=CHILD, requester=MAIN, batch="none", created_at=scene.clock.now())
    await scene.store.change_session(MAIN, lambda snapshot: (builders.opening(parent, "gen-1"),))
    await scene.store.change_session(
        CHILD,
        lambda snapshot: (
            builders.opening(builders.session(CHILD, parent=MAIN), "gen-child"),
            QueueRun(run=builders.run("c1", CHILD, request=Request(requester=MAIN))),
            OweCompletion(completion=owed),
        ),
    )
    lease = await scene.store.acquire_lease(HOME)
    await scene.store.claim_runs(lease, lambda backlog: tuple(run.id for run in backlog.ready))
    scene.clock.advance(MAX_AGE_MS + 1)


@pytest.mark.requirement("D29", "P10")
async def test_the_end_of_a_child_is_told_after_a_crash() -> None:
    scene = Scene()
    door = ChannelPolicy(owner_ids=(f"{CHAT.channel}:{CHAT.to}",))
    scene.rules = replace(scene.rules, doors={CHAT.channel: door})
    await left_child(scene)
    await recover(scene)
    assert await scene.store.completions(MAIN) == ()
    told = await scene.store.deliveries(DeliveryState.INTENT, 10)
    assert [one.kind for one in told] == [DeliveryKind.ANNOUNCE]
    assert all("\nStats: runtime 10m00s" in one.text for one in told)


class Shared(MemoryStore):
    """A store that every gateway writes."""

    exclusive = False


async def test_what_another_gateway_left_is_taken_over_when_its_lease_has_run_out() -> None:
    scene = Scene()
    scene.store = store = Shared(scene.clock)
    await sending(scene)
    lease = await store.acquire_lease(Gateway(name="other", holder="2"))
    recoverer = Recoverer(store, scene.clock, Rulebook(scene.rules))
    async with anyio.create_task_group() as group:
        group.start_soon(recoverer.take_over, lease)
        for _ in range(2):
            await until_all_wait()
            assert not await store.deliveries(DeliveryState.UNCERTAIN, 10)
            scene.clock.advance(LEASE_MS // 2)
            lease = await store.renew_lease(lease)
        await until_all_wait()
        assert await store.deliveries(DeliveryState.UNCERTAIN, 10)
        group.cancel_scope.cancel()
