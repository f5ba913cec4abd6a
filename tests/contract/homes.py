"""Where the store of a test lives: opened, opened again, and seen from beside."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from roost.core.leases import Gateway, Lease
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.postgres import PostgresStore
from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock
from tests.grounds import laid

Reopen = Callable[[], Awaitable[Store]]
EXCLUSIVE = ("memory", "sqlite")
SHARED = ("postgres",)
STORES = (*EXCLUSIVE, *SHARED)
FIRST = Gateway(name="first", holder="process-1")


class Home:
    """The store as it was last opened, and the lease on it. `place` is a folder, or the address of a server."""

    store: Store
    lease: Lease

    def __init__(self, kind: str, place: Path | str, clock: FakeClock) -> None:
        self.durable = kind != "memory"
        self._place = place
        self._clock = clock
        self._others: list[Store] = []

    async def open(self) -> None:
        self.store = await self._opened()
        self.lease = await self.store.acquire_lease(FIRST)

    async def reopen(self) -> Store:
        """What the next process of the same gateway sees. Rows in memory have no next process."""
        if self.durable:
            await self.store.close()
            await self.open()
        return self.store

    async def beside(self) -> Store:
        """The same rows as another process sees them."""
        if not self.durable:
            return self.store
        self._others.append(await self._opened())
        return self._others[-1]

    async def close(self) -> None:
        for store in (*self._others, self.store):
            await store.close()

    async def _opened(self) -> Store:
        if not self.durable:
            return MemoryStore(self._clock)
        if isinstance(self._place, Path):
            return SqliteStore.open(laid(self._place / "roost.db"), self._clock)
        return await PostgresStore.open(self._place, self._clock, database_clock=self._clock)
