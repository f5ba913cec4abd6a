from pathlib import Path

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Account
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Delivery, DeliveryState
from roost.core.errors import Fenced, LeaseHeld, StoreUnavailable
from roost.core.health import STEADY_MS, Condition
from roost.core.leases import LEASE_MS, RENEW_MS, Gateway, Lease
from roost.core.models import ModelRequest
from roost.core.runs import Run
from roost.core.sendpolicy import Judge, anything
from roost.core.turntaking import Choose
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.reconciler import LONGEST_ASK_MS
from roost.ports import Receive, Recover
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import Hang, Say, Script
from tests.flows.gateways import ADA, BOB, Bench, chat, place
from tests.unit.engine.scenes import HOME
from tests.waiting import until_all_wait


async def test_the_lease_is_renewed_while_the_gateway_serves(bench: Bench, clock: FakeClock) -> None:
    async with bench.engine().serving(HOME) as lease:
        for _ in range(5):
            await until_all_wait()
            clock.advance(RENEW_MS)
        await until_all_wait()
        (held,) = await bench.store.gateways()
        assert held.epoch == lease.epoch
        assert held.expires_at == clock.now() + LEASE_MS


async def test_work_goes_on_after_the_lease_was_renewed(bench: Bench, clock: FakeClock) -> None:
    bench.model.add((Say("still here"),))
    async with bench.engine().serving(HOME):
        for _ in range(5):
            await until_all_wait()
            clock.advance(RENEW_MS)
        await bench.say("hi")
        with anyio.fail_after(60):
            assert await bench.replies() == ("still here",)


async def test_the_lease_is_released_at_the_end_however_it_ends(bench: Bench, clock: FakeClock) -> None:
    async with bench.engine().serving(HOME):
        pass
    assert not (await bench.store.gateways())[0].live(clock.now())
    with pytest.raises(ExceptionGroup):
        async with bench.engine().serving(HOME):
            raise ZeroDivisionError
    assert not (await bench.store.gateways())[0].live(clock.now())
    with anyio.CancelScope() as scope:
        async with bench.engine().serving(HOME):
            scope.cancel()
            await anyio.sleep_forever()
    assert not (await bench.store.gateways())[0].live(clock.now())


async def test_a_gateway_that_lost_its_lease_ends_and_says_so(bench: Bench, clock: FakeClock) -> None:
    async def lose_it() -> None:
        async with bench.engine().serving(HOME):
            await until_all_wait()
            await bench.store.acquire_lease(HOME)
            clock.advance(RENEW_MS)
            await anyio.sleep_forever()

    with anyio.fail_after(60), pytest.raises(Fenced, match="home lost the store"):
        await lose_it()


async def test_a_second_gateway_is_refused_and_told_who_serves(tmp_path: Path, clock: FakeClock) -> None:
    first = SqliteStore.open(tmp_path / "one.db", clock)
    second = SqliteStore.open(tmp_path / "one.db", clock)
    try:
        async with Bench(first, clock).engine().serving(HOME):
            with pytest.raises(LeaseHeld, match="home"):
                async with Bench(second, clock).engine().serving(Gateway(name="other", holder="p2")):
                    pass
    finally:
        await first.close()
        await second.close()


async def test_what_an_earlier_life_left_has_its_fate_before_anything_is_served(
    bench: Bench, clock: FakeClock
) -> None:
    bench.model.add((Say("cut"), Hang()), (Say("whole"),))
    async with bench.engine().serving(HOME):
        await bench.say("hi")
        await bench.model.asked(1)
    clock.advance(bench.rules.house.recovery_max_age_ms + 1)
    async with bench.engine().serving(HOME):
        with anyio.fail_after(60):
            (told,) = await bench.replies()
        assert "could not go on" in told
    assert len(bench.model.requests) == 1


@pytest.mark.requirement("P10")
async def test_a_send_that_stayed_uncertain_over_a_start_is_asked_about_at_the_next(bench: Bench) -> None:
    bench.model.add((Say("hello"),))
    with bench.channel.held_after_arrival() as held:
        async with bench.engine().serving(HOME):
            await bench.say("hi")
            await held.wait()
    # A start that got no further than this.
    await bench.store.reap_deliveries(await bench.store.acquire_lease(HOME))
    assert len(await bench.store.deliveries(DeliveryState.UNCERTAIN, 10)) == 1
    async with bench.engine().serving(HOME):
        pass
    assert len(await bench.store.deliveries(DeliveryState.CONFIRMED, 10)) == 1
    assert bench.channel.replies(place(ADA)) == ("hello",)


class SlowToAsk(LoopbackChannel):
    """A platform that takes its time to say what it was sent."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.asked = anyio.Event()
        self._clock = clock

    async def ask(self, delivery: Delivery) -> Knowledge:
        self.asked.set()
        await self._clock.sleep(3 * LEASE_MS)
        return await super().ask(delivery)


async def test_the_lease_is_renewed_while_channels_are_asked_about_what_was_cut_short(
    bench: Bench, clock: FakeClock
) -> None:
    bench.channel = channel = SlowToAsk(clock)
    bench.model.add((Say("hello"),))
    with channel.held_after_arrival() as held:
        async with bench.engine().serving(HOME):
            await bench.say("hi")
            await held.wait()

    async def pass_time() -> None:
        await channel.asked.wait()
        for _ in range(3 * LEASE_MS // RENEW_MS):
            await until_all_wait()
            clock.advance(RENEW_MS)

    async with anyio.create_task_group() as group:
        group.start_soon(pass_time)
        with anyio.fail_after(60):
            async with bench.engine().serving(HOME):
                (held_lease,) = await bench.store.gateways()
                assert held_lease.live(clock.now())


async def test_a_gateway_without_channels_serves_all_the_same(bench: Bench, clock: FakeClock) -> None:
    engine = Engine(bench.store, clock, lambda: "id", bench.rules, [], jitter=lambda: 0.0)
    async with engine.serving(HOME):
        await until_all_wait()


async def test_it_is_settled_once_all_is_answered_and_sent(bench: Bench) -> None:
    bench.model.add((Say("one"),), (Say("two"),))
    engine = bench.engine()
    async with engine.serving(HOME):
        await bench.say("first")
        await bench.say("second", BOB)
        await bench.channel.wait_acknowledged()
        with anyio.fail_after(60):
            await engine.settled()
        assert len(bench.channel.replies(place(ADA))) + len(bench.channel.replies(place(BOB))) == 2


async def test_a_run_that_breaks_is_told_and_the_gateway_goes_on(bench: Bench) -> None:
    def broken(request: ModelRequest) -> Script:
        raise ZeroDivisionError

    bench.model.add(broken, (Say("better"),))
    async with bench.engine().serving(HOME):
        await bench.say("first")
        with anyio.fail_after(60):
            assert "something broke" in (await bench.replies())[0]
            await bench.say("second")
            assert (await bench.replies(at_least=2))[1] == "better"


class Failing(MemoryStore):
    """A store whose verbs of some names fail with an error, as often as there are errors."""

    def __init__(self, clock: FakeClock, **errors: list[Exception]) -> None:
        super().__init__(clock)
        self.errors = errors

    def strike(self, verb: str) -> None:
        if self.errors.get(verb):
            raise self.errors[verb].pop(0)

    async def claim_runs(self, lease: Lease, choose: Choose) -> tuple[Run, ...]:
        self.strike("claim_runs")
        return await super().claim_runs(lease, choose)

    async def claim_deliveries(
        self, lease: Lease, limit: int, *, judge: Judge = anything, without: frozenset[Account] = frozenset()
    ) -> tuple[Delivery, ...]:
        self.strike("claim_deliveries")
        return await super().claim_deliveries(lease, limit, judge=judge, without=without)

    async def renew_lease(self, lease: Lease) -> Lease:
        self.strike("renew_lease")
        return await super().renew_lease(lease)

    async def reap_runs(self, lease: Lease, recover: Recover) -> tuple[Run, ...]:
        self.strike("reap_runs")
        return await super().reap_runs(lease, recover)

    async def release_lease(self, lease: Lease) -> None:
        self.strike("release_lease")
        await super().release_lease(lease)


def condition(engine: Engine, name: str) -> tuple[Condition, str | None]:
    (part,) = [part for part in engine.health().parts if part.name == name]
    return part.condition, part.error


async def pass_time(clock: FakeClock, milliseconds: int, step: int = 250) -> None:
    for _ in range(milliseconds // step):
        await until_all_wait()
        clock.advance(step)
    await until_all_wait()


PARTS = {
    "claim_runs": "scheduler",
    "claim_deliveries": "outbox",
    "renew_lease": "lease",
    "reap_runs": "recovery",
}


@pytest.mark.parametrize("verb", PARTS)
async def test_a_store_that_is_away_for_a_while_ends_nothing(verb: str, clock: FakeClock) -> None:
    bench = Bench(
        Failing(clock, **{verb: list[Exception]([StoreUnavailable("the disk is full")] * 4)}), clock
    )
    bench.model.add((Say("after all"),))
    engine = bench.engine()
    async with engine.serving(HOME):
        await bench.say("hi")
        await until_all_wait()
        assert condition(engine, PARTS[verb]) == (Condition.RETRYING, "the disk is full")
        await pass_time(clock, 8_000)
        with anyio.fail_after(60):
            assert await bench.replies() == ("after all",)
        await pass_time(clock, STEADY_MS, step=1_000)
        assert engine.health().ok


async def test_a_lease_that_cannot_be_released_runs_out(clock: FakeClock) -> None:
    bench = Bench(Failing(clock, release_lease=[StoreUnavailable("the disk is full")]), clock)
    async with bench.engine().serving(HOME):
        pass
    (lease,) = await bench.store.gateways()
    assert lease.live(clock.now())


class Shaky(LoopbackChannel):
    """A channel whose connection breaks a few times before it holds."""

    broken = 3

    async def run(self, receive: Receive) -> None:
        if self.broken:
            self.broken -= 1
            raise ConnectionError("reset by peer")
        await super().run(receive)


async def test_a_channel_that_breaks_is_begun_again_and_the_others_do_not_notice(
    bench: Bench, clock: FakeClock
) -> None:
    shaky = Shaky(name="shaky")
    door = bench.rules.doors["loopback"]
    bench.change(doors={"loopback": door, "shaky": door})
    bench.model.add((Say("from the other"),), (Say("from the shaky one"),))
    engine = Engine(bench.store, clock, FreshIds(clock), bench.rules, [shaky, bench.channel], lambda: 0.0)
    async with engine.serving(HOME):
        await bench.say("hi")
        with anyio.fail_after(60):
            assert await bench.replies() == ("from the other",)
        await until_all_wait()
        assert condition(engine, "channel shaky") == (Condition.RETRYING, "reset by peer")
        assert condition(engine, "channel loopback") == (Condition.OK, None)
        await shaky.say("hi", sender=BOB, chat=chat(BOB))
        await pass_time(clock, 2_000)
        with anyio.fail_after(60):
            assert await shaky.wait_replies(place(BOB, "shaky")) == ("from the shaky one",)


class Mute(LoopbackChannel):
    """A channel that cannot be asked while it is away."""

    away = True

    async def ask(self, delivery: Delivery) -> Knowledge:
        if self.away:
            await anyio.sleep_forever()
        return await super().ask(delivery)


@pytest.mark.requirement("P9", "P10")
async def test_a_channel_that_cannot_be_asked_does_not_keep_the_gateway_from_starting(
    bench: Bench, clock: FakeClock
) -> None:
    bench.channel = mute = Mute()
    bench.model.add((Say("hello"),), (Say("and now"),))
    with mute.held_after_arrival() as held:
        async with bench.engine().serving(HOME):
            await bench.say("hi")
            await held.wait()
    engine = bench.engine()
    async with anyio.create_task_group() as group:
        group.start_soon(pass_time, clock, LONGEST_ASK_MS)
        async with engine.serving(HOME):
            assert condition(engine, "reconciler")[0] is Condition.RETRYING
            await bench.say("more", BOB)
            with anyio.fail_after(60):
                assert await bench.replies(BOB) == ("and now",)
            assert len(await bench.store.deliveries(DeliveryState.UNCERTAIN, 10)) == 1
            mute.away = False
            await pass_time(clock, 2 * LONGEST_ASK_MS)
            assert await bench.store.deliveries(DeliveryState.UNCERTAIN, 10) == ()
    assert mute.replies(place(ADA)) == ("hello",)


async def test_each_channel_gets_answers_by_its_own_limit(bench: Bench, clock: FakeClock) -> None:
    short = LoopbackChannel(name="short", abilities=ChannelAbilities(longest=10))
    door = bench.rules.doors["loopback"]
    bench.change(doors={"loopback": door, "short": door})
    bench.model.add((Say("one two three four"),), (Say("one two three four"),))
    engine = Engine(bench.store, clock, FreshIds(clock), bench.rules, [short, bench.channel], lambda: 0.0)
    async with engine.serving(HOME):
        await bench.say("hi")
        with anyio.fail_after(60):
            assert await bench.replies() == ("one two three four",)
            await short.say("hi", sender=BOB, chat=chat(BOB))
            assert len(await short.wait_replies(place(BOB, "short"), 2)) == 2
            await short.say("/commands", sender=BOB, chat=chat(BOB))
            assert all(len(text) <= 10 for text in await short.wait_replies(place(BOB, "short"), 20))
