import anyio
import pytest

from roost.core.errors import StoreUnavailable
from roost.core.leases import LEASE_MS, Gateway
from roost.ports import Store, Topic, TopicKind
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.waiting import until_all_wait


async def test_it_is_a_store_that_is_always_sound() -> None:
    store: Store = MemoryStore(FakeClock())
    assert await store.check() == ()


async def test_rows_are_stamped_by_the_gateways_clock_and_leases_by_the_databases() -> None:
    clock, database = FakeClock(NOON), FakeClock(5)
    store = MemoryStore(clock, database)
    lease = await store.acquire_lease(Gateway(name="first", holder="p"))
    assert lease.expires_at == 5 + LEASE_MS
    await store.change_session(MAIN, lambda snapshot: (builders.opening(builders.session(), "s-1"),))
    (event,) = await store.events(MAIN, after=0, limit=1)
    assert event.at == NOON
    clock.advance(10 * LEASE_MS)
    assert await store.renew_lease(lease) == lease


@pytest.mark.requirement("P23")
async def test_whoever_asks_much_of_it_lets_others_go_on() -> None:
    store, seen = MemoryStore(FakeClock()), list[int]()

    async def ask(times: int) -> None:
        for number in range(times):
            await store.session(MAIN)
            await store.change_session(MAIN, lambda snapshot: ())
            seen.append(number)

    async with anyio.create_task_group() as group:
        group.start_soon(ask, 50)
        group.start_soon(ask, 2)
    assert seen[:4] == [0, 0, 1, 1]


async def test_without_a_clock_of_its_own_the_database_goes_by_the_gateways() -> None:
    store = MemoryStore(FakeClock(7))
    lease = await store.acquire_lease(Gateway(name="first", holder="p"))
    assert lease.expires_at == 7 + LEASE_MS


async def test_closing_tells_everybody_who_waits() -> None:
    store = MemoryStore(FakeClock())

    async def check() -> None:
        return None

    async def wait() -> None:
        with pytest.raises(StoreUnavailable):
            await store.wait_for(Topic(TopicKind.RUNS), check)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await until_all_wait()
            await store.close()
