"""A gateway whose lease ran out, or was taken."""

from pathlib import Path

import anyio
import pytest

from roost.core.deliveries import DeliveryState
from roost.core.errors import Fenced, StoreUnavailable
from roost.core.leases import LEASE_MS, RENEW_MS, Gateway, Lease
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import Hang, Say
from tests.flows.gateways import ADA, Bench, place
from tests.unit.engine.scenes import HOME
from tests.waiting import until_all_wait


class Away(MemoryStore):
    """A store that cannot be reached until the lease on it has run out, nor by the first who asks for another."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self._back = clock.now() + LEASE_MS
        self._now = clock.now
        self._asked = 0

    async def renew_lease(self, lease: Lease) -> Lease:
        if self._now() < self._back:
            raise StoreUnavailable("the server is away")
        return await super().renew_lease(lease)

    async def acquire_lease(self, gateway: Gateway) -> Lease:
        self._asked += 1
        if self._asked == 2:
            raise StoreUnavailable("the server is away")
        return await super().acquire_lease(gateway)


@pytest.mark.requirement("P30")
async def test_a_gateway_whose_store_was_away_for_longer_than_its_lease_serves_again(
    clock: FakeClock,
) -> None:
    bench = Bench(Away(clock), clock)
    bench.model.add((Say("after all"),))
    engine = bench.engine()
    async with engine.serving(HOME):
        reached = [engine.reaches_store]
        for _ in range(2):
            for _ in range(LEASE_MS // RENEW_MS):
                await until_all_wait()
                clock.advance(RENEW_MS)
            reached.append(engine.reaches_store)
        await until_all_wait()
        assert reached == [True, False, True]
        (held,) = await bench.store.gateways()
        assert (held.epoch, engine.name) == (2, HOME.name)
        await bench.say("hi")
        with anyio.fail_after(60):
            assert await bench.replies() == ("after all",)


async def stand_still(clock: FakeClock) -> None:
    """As a machine that slept: nothing happened, and the lease has run out."""
    await until_all_wait()
    clock.advance(LEASE_MS + RENEW_MS)
    await until_all_wait()


@pytest.mark.requirement("P10", "P30")
async def test_a_gateway_that_stood_still_takes_up_what_it_was_at_and_answers_once(
    bench: Bench, clock: FakeClock
) -> None:
    bench.model.add((Say("cut"), Hang()), (Say("whole"),), (Say("and on"),))
    async with bench.engine().serving(HOME):
        await bench.say("hi")
        await bench.model.asked(1)
        await stand_still(clock)
        with anyio.fail_after(60):
            assert await bench.replies() == ("whole",)
        await bench.say("still there?")
        with anyio.fail_after(60):
            assert await bench.replies(at_least=2) == ("whole", "and on")


@pytest.mark.requirement("P30")
async def test_what_was_being_sent_when_a_gateway_stood_still_is_asked_about_and_sent_once(
    bench: Bench, clock: FakeClock
) -> None:
    bench.model.add((Say("hello"),))
    with bench.channel.held_after_arrival() as held:
        async with bench.engine().serving(HOME):
            await bench.say("hi")
            await held.wait()
            await stand_still(clock)
            with anyio.fail_after(60):
                while not await bench.store.deliveries(DeliveryState.CONFIRMED, 10):
                    await until_all_wait()
                    clock.advance(RENEW_MS)
    assert bench.channel.replies(place(ADA)) == ("hello",)


@pytest.mark.requirement("P30")
async def test_a_gateway_whose_store_another_has_by_then_ends_and_names_it(
    tmp_path: Path, clock: FakeClock
) -> None:
    first, second = (SqliteStore.open(tmp_path / "one.db", clock) for _ in range(2))

    async def lose_it() -> None:
        async with Bench(first, clock).engine().serving(HOME):
            await until_all_wait()
            (lease,) = await first.gateways()
            await first.release_lease(lease)
            await second.acquire_lease(Gateway(name="other", holder="p2"))
            clock.advance(RENEW_MS)
            await anyio.sleep_forever()

    try:
        with anyio.fail_after(60), pytest.raises(Fenced, match="gateway other"):
            await lose_it()
    finally:
        await first.close()
        await second.close()
