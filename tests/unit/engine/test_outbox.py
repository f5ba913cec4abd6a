from dataclasses import replace

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Account, Address
from roost.core.admission import ChannelPolicy
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState, Postponed, SendResult
from roost.core.errors import Fenced, StoreUnavailable
from roost.core.leases import LEASE_MS, RENEW_MS, Gateway, Lease
from roost.core.runs import Claim
from roost.core.sendpolicy import Judge, SendAction, SendPolicy, anything
from roost.engine.outbox import AT_ONCE, POLL_MS, Outbox
from roost.engine.rulebook import Rulebook
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import CHAT
from roost.testing.clock import FakeClock
from tests.unit.engine.scenes import HOME, Scene
from tests.unit.engine.sends import found, outbox, put, serving
from tests.waiting import until_all_wait

ELSEWHERE = Address(channel="loopback", to="bob")


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


@pytest.mark.requirement("D20")
async def test_a_session_that_may_not_send_is_told_nothing_but_the_answers_to_commands() -> None:
    scene, channel = Scene(), LoopbackChannel()
    scene.rules = replace(scene.rules, sending=SendPolicy(default=SendAction.DENY))
    kinds = [replace(builders.delivery(kind), kind=kind, text=kind) for kind in DeliveryKind]
    await put(scene, *kinds)
    async with serving(scene, channel):
        assert await channel.wait_replies(CHAT) == (DeliveryKind.COMMAND,)
    dismissed = await scene.store.deliveries(DeliveryState.DISMISSED, 10)
    assert {one.kind for one in dismissed} == set(DeliveryKind) - {DeliveryKind.COMMAND}
    assert len(await scene.store.denials(10)) == 4


async def test_by_an_account_that_is_off_nothing_is_sent_and_it_is_written_down_why() -> None:
    scene, channel = Scene(), LoopbackChannel()
    off = ChannelPolicy(accounts={"default": ChannelPolicy(enabled=False)})
    scene.rules = replace(scene.rules, doors={"loopback": off})
    await put(scene, *(replace(builders.delivery(kind), kind=kind, text=kind) for kind in DeliveryKind))
    async with serving(scene, channel):
        pass
    assert channel.replies(CHAT) == ()
    dismissed = await scene.store.deliveries(DeliveryState.DISMISSED, 10)
    assert {one.kind for one in dismissed} == set(DeliveryKind)
    assert {one.error for one in dismissed} == {"not sent, because of enabled=false of loopback"}
    assert len(await scene.store.denials(10)) == len(DeliveryKind)


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
        await until_all_wait()
        put_off = await found(scene, "d1")
        assert (put_off.state, put_off.error) == (DeliveryState.INTENT, "busy")
        wait = put_off.ready_at - scene.clock.now()
        assert wait > POLL_MS
        scene.clock.advance(POLL_MS)
        await until_all_wait()
        assert channel.replies(CHAT) == ()
        scene.clock.advance(wait)
        with anyio.fail_after(60):
            assert await channel.wait_replies(CHAT) == ("hello",)


async def test_a_send_that_hangs_keeps_no_other_chat_waiting() -> None:
    scene, channel = Scene(), LoopbackChannel()
    with channel.held_before_arrival() as held:
        await put(scene, builders.delivery("slow"))
        async with serving(scene, channel):
            await held.wait()
            await put(scene, builders.delivery("quick", address=ELSEWHERE))
            await until_all_wait()
            assert (await found(scene, "quick")).state is DeliveryState.SENDING


async def test_no_more_is_under_way_than_fits_and_the_rest_follows() -> None:
    scene, channel = Scene(), LoopbackChannel()
    names = [f"d{number}" for number in range(AT_ONCE + 3)]
    await put(
        scene, *(builders.delivery(name, address=Address(channel="loopback", to=name)) for name in names)
    )
    async with serving(scene, channel):
        with channel.held_before_arrival():
            await until_all_wait()
            assert len(await scene.store.deliveries(DeliveryState.SENDING, 100)) == AT_ONCE
    assert len(await scene.store.deliveries(DeliveryState.CONFIRMED, 100)) == len(names)


class SlowToTell(MemoryStore):
    """Claims at once, and is slow to say so."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.told = anyio.Event()

    async def claim_deliveries(
        self, lease: Lease, limit: int, *, judge: Judge = anything, without: frozenset[Account] = frozenset()
    ) -> tuple[Delivery, ...]:
        claimed = await super().claim_deliveries(lease, limit, judge=judge, without=without)
        if claimed and lease.gateway == HOME:
            await self.told.wait()
        return claimed


async def test_a_claim_that_is_answered_after_the_poll_is_not_lost() -> None:
    scene, channel = Scene(), LoopbackChannel()
    scene.store = store = SlowToTell(scene.clock)
    await put(scene, builders.delivery("d1"))
    async with serving(scene, channel):
        await until_all_wait()
        scene.clock.advance(POLL_MS)
        await until_all_wait()
        store.told.set()
        with anyio.fail_after(60):
            await channel.wait_replies(CHAT)


async def test_a_channel_that_hangs_with_all_its_chats_keeps_no_other_channel_waiting() -> None:
    scene, stuck, quick = Scene(), LoopbackChannel(name="stuck"), LoopbackChannel()
    crowd = [Address(channel="stuck", to=f"person-{number}") for number in range(5 * AT_ONCE)]
    await put(scene, *(builders.delivery(f"s-{to.to}", address=to) for to in crowd))
    channels = {Account("stuck"): stuck, Account("loopback"): quick}
    sender = Outbox(scene.store, scene.clock, Rulebook(scene.rules), channels, jitter=lambda: 0.0)
    lease = await scene.store.acquire_lease(HOME)
    with stuck.held_before_arrival() as held:
        async with anyio.create_task_group() as group:
            group.start_soon(sender.serve, lease, group)
            await held.wait()
            await put(scene, builders.delivery("q", text="through"))
            with anyio.fail_after(60):
                assert await quick.wait_replies(CHAT) == ("through",)
            group.cancel_scope.cancel()


class Failing(MemoryStore):
    """Does not keep what became of a delivery, for these reasons first."""

    def __init__(self, clock: FakeClock, *errors: Exception) -> None:
        super().__init__(clock)
        self.errors = list(errors)

    async def settle_delivery(self, claim: Claim, result: SendResult) -> Delivery:
        if self.errors:
            raise self.errors.pop(0)
        return await super().settle_delivery(claim, result)


@pytest.mark.requirement("P9")
async def test_what_became_of_a_send_is_kept_once_the_store_can_keep_it() -> None:
    scene, channel = Scene(), LoopbackChannel()
    scene.store = Failing(scene.clock, StoreUnavailable("full"), StoreUnavailable("full"))
    await put(scene, builders.delivery("d1"))
    async with serving(scene, channel):
        for _ in range(3):
            await until_all_wait()
            scene.clock.advance(500)
        await until_all_wait()
        assert (await found(scene, "d1")).state is DeliveryState.CONFIRMED
    assert len(channel.replies(CHAT)) == 1


async def test_a_send_that_is_no_longer_ours_ends_nothing() -> None:
    scene, channel = Scene(), LoopbackChannel()
    scene.store = Failing(scene.clock, Fenced("taken over"))
    await put(scene, builders.delivery("d1"), builders.delivery("d2", address=ELSEWHERE))
    async with serving(scene, channel):
        await until_all_wait()
        assert (await found(scene, "d2")).state is DeliveryState.CONFIRMED
    assert (await found(scene, "d1")).state is DeliveryState.SENDING


THAT_ANSWERS = ChannelAbilities(longest=4000, dedupes=False, answers=True, threads=True)


@pytest.mark.requirement("P9")
async def test_a_gateway_that_was_stopped_after_its_claim_does_not_send_what_its_successor_sent() -> None:
    scene, channel = Scene(), LoopbackChannel(abilities=THAT_ANSWERS)
    scene.store = store = SlowToTell(scene.clock)
    await put(scene, builders.delivery("d1", text="once"))
    with pytest.RaisesGroup(Fenced, flatten_subgroups=True):
        async with serving(scene, channel):
            await until_all_wait()
            scene.clock.advance(LEASE_MS)
            await handed_over(scene, channel)
            store.told.set()
            await anyio.sleep_forever()
    assert channel.replies(CHAT) == ("once",)
    assert (await found(scene, "d1")).state is DeliveryState.CONFIRMED


async def handed_over(scene: Scene, channel: LoopbackChannel) -> None:
    """A standby takes over, hears that the message was never sent, and sends it."""
    lease = await scene.store.acquire_lease(Gateway(name="standby", holder="another process"))
    (lost,) = await scene.store.reap_deliveries(lease)
    assert await channel.ask(lost) is Knowledge.NOT_SENT
    await scene.store.resolve_delivery(lost, DeliveryState.INTENT, scene.clock.now())
    (again,) = await scene.store.claim_deliveries(lease, 1)
    assert again.claim is not None
    await scene.store.settle_delivery(again.claim, await channel.send(again))


class Away(SlowToTell):
    """Cannot renew a lease at first."""

    failures = 2

    async def renew_lease(self, lease: Lease) -> Lease:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("busy")
        return await super().renew_lease(lease)


@pytest.mark.requirement("P9")
async def test_a_gateway_that_was_slow_and_kept_its_lease_sends_once_the_store_says_so() -> None:
    scene, channel = Scene(), LoopbackChannel()
    scene.store = store = Away(scene.clock)
    await put(scene, builders.delivery("d1", text="once"))
    async with serving(scene, channel):
        await until_all_wait()
        scene.clock.advance(RENEW_MS + 1)
        store.told.set()
        await until_all_wait()
        assert channel.replies(CHAT) == ()
        for _ in range(3):
            scene.clock.advance(500)
            await until_all_wait()
        assert channel.replies(CHAT) == ("once",)
    assert (await found(scene, "d1")).state is DeliveryState.CONFIRMED


@pytest.mark.requirement("P9")
async def test_what_was_claimed_as_the_gateway_ended_and_never_sent_waits_again() -> None:
    scene, channel = Scene(), LoopbackChannel(abilities=THAT_ANSWERS)
    scene.store = store = SlowToTell(scene.clock)
    await put(scene, builders.delivery("d1"))
    lease = await scene.store.acquire_lease(HOME)

    async def tell() -> None:
        await until_all_wait()
        store.told.set()

    async with anyio.create_task_group() as outer, anyio.create_task_group() as group:
        group.start_soon(outbox(scene, channel).serve, lease, group)
        await until_all_wait()
        outer.start_soon(tell)
        group.cancel_scope.cancel()
    assert (await found(scene, "d1")).state is DeliveryState.INTENT
    assert channel.replies(CHAT) == ()
