from pathlib import Path

import anyio
import pytest

from roost.core.errors import LeaseHeld, RoostError, StoreUnavailable
from roost.core.leases import LEASE_MS, Gateway, Lease
from roost.engine.standby import LOOK_MS, lease_when_free
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import Say
from tests.flows.gateways import Bench
from tests.waiting import until_all_wait

FIRST = Gateway(name="first", holder="p1")
SECOND = Gateway(name="second", holder="p2")
THIRD = Gateway(name="third", holder="p3")


class Waiting:
    """What a gateway that stands by says, and the lease once it has it."""

    def __init__(self) -> None:
        self.told: list[RoostError] = []
        self.lease: Lease | None = None

    async def wait(self, store: MemoryStore, clock: FakeClock) -> None:
        self.lease = await lease_when_free(store, clock, THIRD, self.told.append)


async def passes(clock: FakeClock, milliseconds: int) -> None:
    for _ in range(milliseconds // LOOK_MS):
        await until_all_wait()
        clock.advance(LOOK_MS)
    await until_all_wait()


@pytest.mark.requirement("P30")
async def test_it_waits_for_the_owner_and_names_each_owner_once() -> None:
    clock = FakeClock()
    store, waiting = MemoryStore(clock), Waiting()
    first = await store.acquire_lease(FIRST)
    async with anyio.create_task_group() as group:
        group.start_soon(waiting.wait, store, clock)
        await passes(clock, LEASE_MS - LOOK_MS)
        assert ["first" in str(told) for told in waiting.told] == [True]
        await store.release_lease(first)
        await store.acquire_lease(SECOND)
        await passes(clock, LEASE_MS - LOOK_MS)
        assert ["second" in str(told) for told in waiting.told] == [False, True]
        assert waiting.lease is None
        await passes(clock, LOOK_MS)
    assert waiting.lease is not None
    assert waiting.lease.epoch == 3
    assert all(isinstance(told, LeaseHeld) for told in waiting.told)


class Locked(MemoryStore):
    """A store whose file somebody holds, for a while."""

    locked = True

    async def acquire_lease(self, gateway: Gateway) -> Lease:
        if self.locked:
            raise StoreUnavailable("the file is locked")
        return await super().acquire_lease(gateway)


async def test_a_file_that_somebody_holds_is_waited_for_too() -> None:
    clock = FakeClock()
    store, waiting = Locked(clock), Waiting()
    async with anyio.create_task_group() as group:
        group.start_soon(waiting.wait, store, clock)
        await passes(clock, 4 * LOOK_MS)
        store.locked = False
        await passes(clock, LOOK_MS)
    assert [str(told) for told in waiting.told] == ["the file is locked"]
    assert waiting.lease is not None


@pytest.mark.requirement("P30")
async def test_a_gateway_that_stood_by_serves_what_the_owner_left(tmp_path: Path) -> None:
    clock = FakeClock()
    stores = [SqliteStore.open(tmp_path / "one.db", clock) for _ in range(2)]
    other = Bench(stores[1], clock)
    other.model.add((Say("from the second"),))
    told: list[RoostError] = []
    await stores[0].acquire_lease(FIRST)

    async def stand_by() -> None:
        async with other.engine().standing_by(SECOND, told.append):
            await other.say("hi")
            assert await other.replies() == ("from the second",)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(stand_by)
            while not told:
                await until_all_wait()
            clock.advance(LEASE_MS)
    assert "first" in str(told[0])
    for store in stores:
        await store.close()
