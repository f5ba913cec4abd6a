"""Where the store of a test lives: opened, opened again, and seen from beside."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from roost.core.leases import Gateway, Lease
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock

Reopen = Callable[[], Awaitable[Store]]
STORES = ("memory", "sqlite")
FIRST = Gateway(name="first", holder="process-1")


class Home:
    """The store as it was last opened, and the lease on it."""

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
