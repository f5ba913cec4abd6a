from collections.abc import Mapping
from itertools import pairwise

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Account, Address
from roost.core.backoff import GIVE_UP_MS, QUICK_MS, SLOW_MS
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Confirmed, Delivery, DeliveryState, Unknown
from roost.core.errors import Conflict
from roost.engine.reconciler import EVERY_MS, LONGEST_ASK_MS, Reconciler, Unasked
from roost.ports import Channel
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import CHAT
from tests.unit.engine.scenes import HOME, Scene
from tests.unit.engine.sends import found, put
from tests.waiting import until_all_wait

LOOPBACK = Account("loopback")


def reconciler(scene: Scene, channels: Mapping[Account, Channel]) -> Reconciler:
    return Reconciler(scene.store, scene.clock, channels, jitter=lambda: 0.0)


async def uncertain(
    scene: Scene, channel: LoopbackChannel | None = None, *, name: str = "d1", address: Address = CHAT
) -> Delivery:
    """A delivery that was cut short while it was sent; with a channel, after it had arrived there."""
    await put(scene, builders.delivery(name, address=address))
    (sending,) = await scene.store.claim_deliveries(await scene.store.acquire_lease(HOME), 1)
    if channel is not None:
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
    await uncertain(scene, channel if arrived else None)
    await reconciler(scene, {LOOPBACK: channel}).reconcile()
    assert (await found(scene, "d1")).state is state


@pytest.mark.requirement("P9")
@pytest.mark.parametrize(
    ("abilities", "state"), [(ASKED, DeliveryState.FAILED), (DEDUPES, DeliveryState.UNCERTAIN)]
)
async def test_a_send_that_stays_in_doubt_is_tried_ever_more_rarely_and_not_for_ever(
    abilities: ChannelAbilities, state: DeliveryState
) -> None:
    scene, channel = Scene(), LoopbackChannel(abilities=abilities)
    began, sent = scene.clock.now(), []
    await put(scene, builders.delivery("d1"))
    asking = reconciler(scene, {LOOPBACK: channel})
    while scene.clock.now() - began < 2 * GIVE_UP_MS:
        lease = await scene.store.acquire_lease(HOME)
        for one in await scene.store.claim_deliveries(lease, 1):
            sent.append(scene.clock.now() - began)
            assert one.claim is not None
            await scene.store.settle_delivery(one.claim, Unknown(error="no answer"))
        await asking.reconcile()
        scene.clock.advance(EVERY_MS)
    waits = [later - earlier for earlier, later in pairwise(sent)]
    assert waits[:7] == [EVERY_MS, *QUICK_MS, SLOW_MS, 2 * SLOW_MS, 4 * SLOW_MS]
    assert len(sent) < 20
    assert (await found(scene, "d1")).state is state


async def test_a_send_that_was_cut_short_stays_uncertain_while_its_channel_is_away() -> None:
    scene = Scene()
    await uncertain(scene)
    await reconciler(scene, {}).reconcile()
    assert (await found(scene, "d1")).state is DeliveryState.UNCERTAIN


class Broken(LoopbackChannel):
    """A channel that cannot be asked, so often."""

    times = 1

    async def ask(self, delivery: Delivery) -> Knowledge:
        if self.times:
            self.times -= 1
            raise ZeroDivisionError
        return await super().ask(delivery)


async def test_a_channel_that_breaks_when_asked_is_named_and_asked_again_later() -> None:
    scene, broken, whole = Scene(), Broken(name="broken"), LoopbackChannel()
    channels = {Account("broken"): broken, LOOPBACK: whole}
    await uncertain(scene, name="b1", address=Address(channel="broken", to="x"))
    await uncertain(scene, whole, name="w1")
    asking = reconciler(scene, channels)
    with pytest.raises(Unasked, match="broken"):
        await asking.reconcile()
    assert (await found(scene, "b1")).state is DeliveryState.UNCERTAIN
    assert (await found(scene, "w1")).state is DeliveryState.CONFIRMED
    scene.clock.advance(EVERY_MS)
    await asking.reconcile()
    assert (await found(scene, "b1")).state is DeliveryState.INTENT


class Selective(LoopbackChannel):
    async def ask(self, delivery: Delivery) -> Knowledge:
        if delivery.address.to == "gone":
            raise ZeroDivisionError
        return Knowledge.SENT


async def test_a_send_that_cannot_be_asked_about_holds_up_no_other() -> None:
    scene = Scene()
    for number, place in enumerate(("gone", "x", "y")):
        await uncertain(scene, name=f"d{number}", address=Address(channel="loopback", to=place))
    with pytest.raises(Unasked):
        await reconciler(scene, {LOOPBACK: Selective()}).reconcile()
    states = [(await found(scene, f"d{number}")).state for number in range(3)]
    assert states == [DeliveryState.UNCERTAIN, DeliveryState.CONFIRMED, DeliveryState.CONFIRMED]


class Hanging(LoopbackChannel):
    asked = 0

    async def ask(self, delivery: Delivery) -> Knowledge:
        self.asked += 1
        await anyio.sleep_forever()
        raise AssertionError


async def test_a_channel_that_hangs_when_asked_is_waited_for_once_and_not_for_long() -> None:
    scene, hanging = Scene(), Hanging()
    for number in range(3):
        await uncertain(scene, name=f"d{number}", address=Address(channel="loopback", to=f"p{number}"))
    async with anyio.create_task_group() as group:

        async def attempt() -> None:
            with pytest.raises(Unasked):
                await reconciler(scene, {LOOPBACK: hanging}).reconcile()

        group.start_soon(attempt)
        await until_all_wait()
        scene.clock.advance(LONGEST_ASK_MS)
    assert hanging.asked == 1
    assert len(await scene.store.deliveries(DeliveryState.UNCERTAIN, 10)) == 3


class Resolved(MemoryStore):
    """Somebody else is quicker."""

    async def resolve_delivery(self, seen: Delivery, state: DeliveryState, at: int) -> Delivery:
        raise Conflict("dismissed already")


async def test_a_send_that_somebody_else_resolved_meanwhile_is_left_to_them() -> None:
    scene = Scene()
    scene.store = Resolved(scene.clock)
    channel = LoopbackChannel()
    await uncertain(scene, channel)
    await reconciler(scene, {LOOPBACK: channel}).reconcile()


class Forgetful(LoopbackChannel):
    """Says nothing about a message for a while."""

    asked = 0
    knows = False

    async def ask(self, delivery: Delivery) -> Knowledge:
        self.asked += 1
        return await super().ask(delivery) if self.knows else Knowledge.UNKNOWN


@pytest.mark.requirement("P9")
async def test_a_channel_that_does_not_know_is_asked_again_more_and_more_rarely_until_it_does() -> None:
    scene, channel = Scene(), Forgetful(abilities=ASKED)
    await uncertain(scene, channel)
    looked: list[int] = []
    async with anyio.create_task_group() as group:
        serve = reconciler(scene, {LOOPBACK: channel}).serve
        group.start_soon(serve, lambda: looked.append(channel.asked))
        for _ in range(sum(QUICK_MS) // EVERY_MS):
            await until_all_wait()
            scene.clock.advance(EVERY_MS)
        await until_all_wait()
        assert looked == [1, 2, 2, 3, 3, 3, 3, 4]
        assert (await found(scene, "d1")).state is DeliveryState.UNCERTAIN
        channel.knows = True
        scene.clock.advance(15_000)
        await until_all_wait()
        assert (await found(scene, "d1")).state is DeliveryState.CONFIRMED
        group.cancel_scope.cancel()


async def test_a_channel_that_can_neither_be_asked_nor_dedupe_is_left_alone() -> None:
    scene, channel = Scene(), Forgetful(abilities=NEITHER)
    await uncertain(scene, channel)
    await reconciler(scene, {LOOPBACK: channel}).reconcile()
    assert (channel.asked, (await found(scene, "d1")).state) == (0, DeliveryState.UNCERTAIN)
