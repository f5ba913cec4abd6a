"""The stores that must keep the contract, each empty and held by one gateway at the start of a test."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from roost.core.leases import Gateway, Lease
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock

Reopen = Callable[[], Awaitable[Store]]
STORES = ("memory", "sqlite")
FIRST = Gateway(name="first", holder="process-1")


class Home:
    """Where the store of a test lives, the store as it was last opened, and the lease on it."""

    store: Store
    lease: Lease

    def __init__(self, kind: str, folder: Path, clock: FakeClock) -> None:
        self.durable = kind != "memory"
        self._path = folder / "roost.db"
        self._clock = clock
        self._others: list[Store] = []

    async def open(self) -> None:
        self.store = self._opened()
        self.lease = await self.store.acquire_lease(FIRST)

    async def reopen(self) -> Store:
        """What the next process of the same gateway sees. Rows in memory have no next process."""
        if self.durable:
            await self.store.close()
            await self.open()
        return self.store

    def beside(self) -> Store:
        """The same rows as another process sees them."""
        if not self.durable:
            return self.store
        self._others.append(self._opened())
        return self._others[-1]

    async def close(self) -> None:
        for store in (*self._others, self.store):
            await store.close()

    def _opened(self) -> Store:
        return SqliteStore.open(self._path, self._clock) if self.durable else MemoryStore(self._clock)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=STORES)
async def home(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Home]:
    home = Home(request.param, tmp_path, clock)
    await home.open()
    yield home
    assert await home.store.check() == ()
    await home.close()


@pytest.fixture
def store(home: Home) -> Store:
    return home.store


@pytest.fixture
def lease(home: Home) -> Lease:
    return home.lease


@pytest.fixture
def reopen(home: Home) -> Reopen:
    return home.reopen
