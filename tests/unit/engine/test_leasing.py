import anyio
import pytest

from roost.core.errors import Fenced
from roost.core.leases import LEASE_MS, RENEW_MS
from roost.engine.leasing import holding
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from tests.unit.engine.scenes import HOME
from tests.waiting import until_all_wait


async def test_a_lease_is_renewed_while_it_is_held_and_let_go_after() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    async with holding(store, clock, HOME):
        for _ in range(2 * LEASE_MS // RENEW_MS):
            await until_all_wait()
            clock.advance(RENEW_MS)
        await until_all_wait()
        (lease,) = await store.gateways()
        assert lease.live(clock.now())
    (lease,) = await store.gateways()
    assert not lease.live(clock.now())


async def test_a_lease_that_is_lost_ends_what_is_done_under_it() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)

    async def work() -> None:
        async with holding(store, clock, HOME):
            await until_all_wait()
            await store.acquire_lease(HOME)
            clock.advance(RENEW_MS)
            await anyio.sleep_forever()

    with anyio.fail_after(60), pytest.raises(ExceptionGroup) as ended:
        await work()
    assert ended.group_contains(Fenced)
