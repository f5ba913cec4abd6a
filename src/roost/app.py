"""The composition root: the only module that names concrete adapters."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from roost.clock import SystemClock
from roost.config import Loaded, configured_secrets
from roost.core.errors import ConfigInvalid
from roost.core.redaction import ExactValues
from roost.ports import Clock, SecretScanner, Store
from roost.scanners.stdlib import StdlibScanner
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


def secret_scanner(loaded: Loaded) -> SecretScanner:
    """What finds credentials: the configured ones as they are, others by their form."""
    return ExactValues(
        (secret.reveal() for secret in configured_secrets(loaded.settings).values()), _by_form()
    )


def _by_form() -> SecretScanner:
    if find_spec("re2") is None:
        return StdlibScanner()
    from roost.scanners.re2 import Re2Scanner  # noqa: PLC0415 — has no wheel for every platform

    return Re2Scanner()
