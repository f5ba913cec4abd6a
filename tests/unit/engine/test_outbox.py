from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Address
from roost.core.channels import ChannelAbilities
from roost.core.deliveries import Confirmed, Delivery, DeliveryState, Postponed, SendResult, Unknown
from roost.core.effects import AddDelivery
from roost.core.leases import Lease
from roost.engine.outbox import AT_ONCE, POLL_MS, Outbox
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import FakeClock
from tests.unit.engine.scenes import HOME, Scene

ELSEWHERE = Address(channel="loopback", to="bob")


def outbox(scene: Scene, channel: LoopbackChannel) -> Outbox:
    return Outbox(scene.store, scene.clock, {("loopback", "default"): channel}, jitter=lambda: 0.0)


@asynccontextmanager
async def serving(scene: Scene, channel: LoopbackChannel) -> AsyncIterator[None]:
    lease = await scene.store.acquire_lease(HOME)
    async with anyio.create_task_group() as group:
        group.start_soon(outbox(scene, channel).serve, lease)
        yield
        await anyio.wait_all_tasks_blocked()
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


async def test_what_waits_is_sent_and_settled() -> None:
    scene, channel = Scene(), LoopbackChannel()
    await put(scene, builders.delivery("d1", text="hello"))
    async with serving(scene, channel):
        assert await channel.wait_replies(CHAT) == ("hello",)
    assert (await found(scene, "d1")).state is DeliveryState.CONFIRMED


async def test_messages_to_one_place_come_in_order() -> None:
    scene, channel = Scene(), LoopbackChannel()
    texts = tuple(f"part {number}" for number in range(5))
    await put(scene, *(builders.delivery(f"d{n}", text=text) for n, text in enumerate(texts)))
    async with serving(scene, channel):
        assert await channel.wait_replies(CHAT, 5) == texts


async def test_what_no_channel_serves_is_rejected() -> None:
    scene = Scene()
    await put(scene, builders.delivery("d1", address=Address(channel="gone", to="x")))
    async with serving(scene, LoopbackChannel()):
        pass
    lost = await found(scene, "d1")
    assert lost.state is DeliveryState.FAILED
    assert lost.error is not None
    assert "no channel gone" in lost.error


async def test_a_send_that_failed_for_now_is_tried_again_after_a_wait() -> None:
    scene, channel = Scene(), LoopbackChannel()
    channel.answer_next(Postponed(ready_at=0, error="busy"))
    await put(scene, builders.delivery("d1", text="hello"))
    async with serving(scene, channel):
        await anyio.wait_all_tasks_blocked()
        put_off = await found(scene, "d1")
        assert (put_off.state, put_off.error) == (DeliveryState.INTENT, "busy")
        wait = put_off.ready_at - scene.clock.now()
        assert wait > POLL_MS
        scene.clock.advance(POLL_MS)
        await anyio.wait_all_tasks_blocked()
        assert channel.replies(CHAT) == ()
        scene.clock.advance(wait)
        with anyio.fail_after(5):
            assert await channel.wait_replies(CHAT) == ("hello",)


async def test_a_send_that_hangs_keeps_no_other_chat_waiting() -> None:
    scene, channel = Scene(), LoopbackChannel()
    with channel.held_before_arrival() as held:
        await put(scene, builders.delivery("slow"))
        async with serving(scene, channel):
            await held.wait()
            await put(scene, builders.delivery("quick", address=ELSEWHERE))
            await anyio.wait_all_tasks_blocked()
            assert (await found(scene, "quick")).state is DeliveryState.SENDING


async def test_no_more_is_under_way_than_fits_and_the_rest_follows() -> None:
    scene, channel = Scene(), LoopbackChannel()
    names = [f"d{number}" for number in range(AT_ONCE + 3)]
    await put(
        scene, *(builders.delivery(name, address=Address(channel="loopback", to=name)) for name in names)
    )
    async with serving(scene, channel):
        with channel.held_before_arrival():
            await anyio.wait_all_tasks_blocked()
            assert len(await scene.store.deliveries(DeliveryState.SENDING, 100)) == AT_ONCE
    assert len(await scene.store.deliveries(DeliveryState.CONFIRMED, 100)) == len(names)


class Broken(LoopbackChannel):
    """A channel that does not keep its promise."""

    async def send(self, delivery: Delivery) -> SendResult:
        raise ZeroDivisionError


async def test_a_send_that_breaks_is_uncertain_and_ends_nothing() -> None:
    scene = Scene()
    await put(scene, builders.delivery("d1"))
    async with serving(scene, Broken()):
        await anyio.wait_all_tasks_blocked()
        broken = await found(scene, "d1")
        assert broken.state is DeliveryState.UNCERTAIN
        assert "ZeroDivisionError" in (broken.error or "")


class SlowToTell(MemoryStore):
    """Claims at once, and is slow to say so."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.told = anyio.Event()

    async def claim_deliveries(self, lease: Lease, limit: int) -> tuple[Delivery, ...]:
        claimed = await super().claim_deliveries(lease, limit)
        if claimed:
            await self.told.wait()
        return claimed


async def test_a_claim_that_is_answered_after_the_poll_is_not_lost() -> None:
    scene, channel = Scene(), LoopbackChannel()
    scene.store = store = SlowToTell(scene.clock)
    await put(scene, builders.delivery("d1"))
    async with serving(scene, channel):
        await anyio.wait_all_tasks_blocked()
        scene.clock.advance(POLL_MS)
        await anyio.wait_all_tasks_blocked()
        store.told.set()
        with anyio.fail_after(5):
            await channel.wait_replies(CHAT)


async def uncertain(scene: Scene, channel: LoopbackChannel, *, arrived: bool) -> Delivery:
    """A delivery that was cut short while it was sent."""
    await put(scene, builders.delivery("d1"))
    (sending,) = await scene.store.claim_deliveries(await scene.store.acquire_lease(HOME), 1)
    if arrived:
        assert isinstance(await channel.send(sending), Confirmed)
    assert sending.claim is not None
    return await scene.store.settle_delivery(sending.claim, Unknown(error="cut short"))


ASKED = ChannelAbilities(longest=4000, answers=True)
DEDUPES = ChannelAbilities(longest=4000, dedupes=True)
NEITHER = ChannelAbilities(longest=4000)


@pytest.mark.requirement("P9")
@pytest.mark.parametrize(
    ("abilities", "arrived", "state"),
    [
        (ASKED, True, DeliveryState.CONFIRMED),
        (ASKED, False, DeliveryState.INTENT),
        (DEDUPES, True, DeliveryState.INTENT),
        (NEITHER, True, DeliveryState.UNCERTAIN),
        (NEITHER, False, DeliveryState.UNCERTAIN),
    ],
)
async def test_a_send_that_was_cut_short_is_settled_by_what_its_channel_knows(
    abilities: ChannelAbilities, state: DeliveryState, *, arrived: bool
) -> None:
    scene, channel = Scene(), LoopbackChannel(abilities=abilities)
    lost = await uncertain(scene, channel, arrived=arrived)
    await outbox(scene, channel).reconcile((lost,))
    assert (await found(scene, "d1")).state is state


async def test_a_send_that_was_cut_short_stays_uncertain_while_its_channel_is_away() -> None:
    scene = Scene()
    lost = await uncertain(scene, LoopbackChannel(), arrived=False)
    await Outbox(scene.store, scene.clock, {}, jitter=lambda: 0.0).reconcile((lost,))
    assert (await found(scene, "d1")).state is DeliveryState.UNCERTAIN
