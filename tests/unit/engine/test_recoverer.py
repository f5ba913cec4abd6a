from collections.abc import Mapping
from dataclasses import replace

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Account, Address
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Confirmed, Delivery, DeliveryKind, DeliveryState, Unknown
from roost.core.effects import AddDelivery, OweCompletion, QueueRun
from roost.core.errors import Conflict, Fenced, StoreUnavailable
from roost.core.exchanges import Completion
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.recovery import MAX_AGE_MS
from roost.core.runs import Request, Run
from roost.core.sendpolicy import Action, SendPolicy
from roost.engine.recoverer import LONGEST_ASK_MS, Recoverer, Unasked
from roost.engine.rulebook import Rulebook
from roost.ports import Channel, Recover
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from tests.unit.engine.scenes import HOME, Scene

LOOPBACK = Account("loopback")


def recoverer(scene: Scene, channels: Mapping[Account, Channel]) -> Recoverer:
    return Recoverer(scene.store, scene.clock, Rulebook(scene.rules), channels)


async def recover(scene: Scene, channels: Mapping[Account, Channel]) -> None:
    await recoverer(scene, channels).recover(await scene.store.acquire_lease(HOME))


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
    await recover(scene, {LOOPBACK: channel})
    assert (await found(scene, "d1")).state is state


async def test_a_send_that_was_cut_short_stays_uncertain_while_its_channel_is_away() -> None:
    scene = Scene()
    await uncertain(scene)
    await recover(scene, {})
    assert (await found(scene, "d1")).state is DeliveryState.UNCERTAIN


class Broken(LoopbackChannel):
    """A channel that cannot be asked, so often."""

    times = 1

    async def ask(self, delivery: Delivery) -> Knowledge:
        if self.times:
            self.times -= 1
            raise ZeroDivisionError
        return await super().ask(delivery)


async def test_a_channel_that_breaks_when_asked_is_named_and_asked_again_at_the_next_attempt() -> None:
    scene, broken, whole = Scene(), Broken(name="broken"), LoopbackChannel()
    channels = {Account("broken"): broken, LOOPBACK: whole}
    await uncertain(scene, name="b1", address=Address(channel="broken", to="x"))
    await uncertain(scene, whole, name="w1")
    with pytest.raises(Unasked, match="broken"):
        await recover(scene, channels)
    assert (await found(scene, "b1")).state is DeliveryState.UNCERTAIN
    assert (await found(scene, "w1")).state is DeliveryState.CONFIRMED
    await recover(scene, channels)
    assert (await found(scene, "b1")).state is DeliveryState.INTENT


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
                await recover(scene, {LOOPBACK: hanging})

        group.start_soon(attempt)
        await anyio.wait_all_tasks_blocked()
        scene.clock.advance(LONGEST_ASK_MS)
    assert hanging.asked == 1
    assert len(await scene.store.deliveries(DeliveryState.UNCERTAIN, 10)) == 3


class Damaged(MemoryStore):
    """Cannot give runs their fate, for a reason."""

    error: Exception

    async def reap_runs(self, lease: Lease, recover: Recover) -> tuple[Run, ...]:
        raise self.error


async def test_what_cannot_be_recovered_keeps_nothing_else_from_it() -> None:
    scene = Scene()
    scene.store = store = Damaged(scene.clock)
    store.error = StoreUnavailable("full")
    channel = LoopbackChannel()
    await uncertain(scene, channel)
    with pytest.raises(StoreUnavailable):
        await recover(scene, {LOOPBACK: channel})
    assert (await found(scene, "d1")).state is DeliveryState.CONFIRMED


async def test_a_lost_lease_ends_recovery_at_once() -> None:
    scene = Scene()
    scene.store = store = Damaged(scene.clock)
    store.error = Fenced("taken over")
    channel = LoopbackChannel()
    await uncertain(scene, channel)
    with pytest.raises(Fenced):
        await recover(scene, {LOOPBACK: channel})
    assert (await found(scene, "d1")).state is DeliveryState.UNCERTAIN


class Resolved(MemoryStore):
    """Somebody else is quicker."""

    async def resolve_delivery(self, delivery_id: str, state: DeliveryState, at: int) -> Delivery:
        raise Conflict("dismissed already")


async def test_a_send_that_somebody_else_resolved_meanwhile_is_left_to_them() -> None:
    scene = Scene()
    scene.store = Resolved(scene.clock)
    channel = LoopbackChannel()
    await uncertain(scene, channel)
    await recover(scene, {LOOPBACK: channel})


CHILD = SessionKey.parse("agent:main:subagent:one")


async def left_child(scene: Scene) -> None:
    """A child of the main session was at work when its gateway stopped for good."""
    parent = replace(builders.session(), route=CHAT)
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


@pytest.mark.requirement("D20")
@pytest.mark.parametrize(("policy", "sent"), [(None, 1), (SendPolicy(default=Action.DENY), 0)])
async def test_the_end_of_a_child_is_told_after_a_crash_only_where_the_send_policy_lets_it(
    policy: SendPolicy | None, sent: int
) -> None:
    scene = Scene()
    scene.rules = replace(scene.rules, sending=policy)
    await left_child(scene)
    await recover(scene, {})
    assert await scene.store.completions(MAIN) == ()
    told = await scene.store.deliveries(DeliveryState.INTENT, 10)
    assert [one.kind for one in told] == [DeliveryKind.ANNOUNCE] * sent
