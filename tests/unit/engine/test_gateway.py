from pathlib import Path

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.channels import Knowledge
from roost.core.deliveries import Delivery, DeliveryState
from roost.core.effects import Advance
from roost.core.errors import Fenced, LeaseHeld, StoreUnavailable
from roost.core.leases import LEASE_MS, RENEW_MS, Gateway
from roost.core.models import ModelRequest
from roost.core.runs import Claim, Run
from roost.engine.gateway import Engine
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import Hang, Say, Script
from tests.flows.gateways import ADA, BOB, Bench, place
from tests.unit.engine.scenes import HOME


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def bench(clock: FakeClock) -> Bench:
    return Bench(MemoryStore(clock), clock)


async def test_the_lease_is_renewed_while_the_gateway_serves(bench: Bench, clock: FakeClock) -> None:
    async with bench.engine().serving(HOME) as lease:
        for _ in range(5):
            await anyio.wait_all_tasks_blocked()
            clock.advance(RENEW_MS)
        await anyio.wait_all_tasks_blocked()
        (held,) = await bench.store.gateways()
        assert held.epoch == lease.epoch
        assert held.expires_at == clock.now() + LEASE_MS


async def test_work_goes_on_after_the_lease_was_renewed(bench: Bench, clock: FakeClock) -> None:
    bench.model.add((Say("still here"),))
    async with bench.engine().serving(HOME):
        for _ in range(5):
            await anyio.wait_all_tasks_blocked()
            clock.advance(RENEW_MS)
        await bench.say("hi")
        with anyio.fail_after(5):
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
            await anyio.wait_all_tasks_blocked()
            await bench.store.acquire_lease(HOME)
            clock.advance(RENEW_MS)
            await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup) as ended:
        await lose_it()
    assert ended.group_contains(Fenced)


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
    clock.advance(bench.rules.recovery_max_age_ms + 1)
    async with bench.engine().serving(HOME):
        with anyio.fail_after(5):
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
            await anyio.wait_all_tasks_blocked()
            clock.advance(RENEW_MS)

    async with anyio.create_task_group() as group:
        group.start_soon(pass_time)
        with anyio.fail_after(5):
            async with bench.engine().serving(HOME):
                (held_lease,) = await bench.store.gateways()
                assert held_lease.live(clock.now())


async def test_a_gateway_without_channels_serves_all_the_same(bench: Bench, clock: FakeClock) -> None:
    engine = Engine(bench.store, clock, lambda: "id", bench.rules, [], jitter=lambda: 0.0)
    async with engine.serving(HOME):
        await anyio.wait_all_tasks_blocked()


async def test_it_is_settled_once_all_is_answered_and_sent(bench: Bench) -> None:
    bench.model.add((Say("one"),), (Say("two"),))
    engine = bench.engine()
    async with engine.serving(HOME):
        await bench.say("first")
        await bench.say("second", BOB)
        await bench.channel.wait_acknowledged()
        with anyio.fail_after(5):
            await engine.settled()
        assert len(bench.channel.replies(place(ADA))) + len(bench.channel.replies(place(BOB))) == 2


async def test_a_run_that_breaks_is_told_and_the_gateway_goes_on(bench: Bench) -> None:
    def broken(request: ModelRequest) -> Script:
        raise ZeroDivisionError

    bench.model.add(broken, (Say("better"),))
    async with bench.engine().serving(HOME):
        await bench.say("first")
        with anyio.fail_after(5):
            assert "something broke" in (await bench.replies())[0]
            await bench.say("second")
            assert (await bench.replies(at_least=2))[1] == "better"


class FullDisk(MemoryStore):
    """A store that can no longer keep the end of a run."""

    async def finish_run(self, claim: Claim, advance: Advance) -> Run:
        raise StoreUnavailable("the disk is full")


async def test_a_gateway_that_cannot_keep_the_end_of_a_run_ends_aloud(clock: FakeClock) -> None:
    bench = Bench(FullDisk(clock), clock)
    bench.model.add((Say("lost"),))

    async def serve() -> None:
        async with bench.engine().serving(HOME):
            await bench.say("hi")
            await anyio.sleep_forever()

    with anyio.fail_after(5), pytest.raises(ExceptionGroup) as ended:
        await serve()
    assert ended.group_contains(StoreUnavailable)
