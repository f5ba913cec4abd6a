"""The composition root: the only module that names concrete adapters."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from roost.clock import SystemClock
from roost.config import Loaded
from roost.core.errors import ConfigInvalid
from roost.ports import Clock, Store
from roost.stores.sqlite import SqliteStore


def database_file(home: Path) -> Path:
    """Where the embedded store lives."""
    return home / "roost.db"


@asynccontextmanager
async def open_store(loaded: Loaded, clock: Clock | None = None) -> AsyncIterator[Store]:
    """The store that the configuration names."""
    if loaded.settings.database is not None:
        raise ConfigInvalid(
            "`database` names a PostgreSQL server, and this Roost has only the embedded store",
            hint="leave `database` out",
        )
    store = SqliteStore.open(database_file(loaded.sources.home), clock or SystemClock())
    try:
        yield store
    finally:
        await store.close()
