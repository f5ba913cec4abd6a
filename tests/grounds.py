"""Where the stores of tests live: opened as often as a gateway lives, and empty at the start."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from roost.ports import Clock, Store
from roost.stores.memory import MemoryStore
from roost.stores.postgres import PostgresStore
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.connection import make_private, open_writer
from roost.stores.sqlite.store import SqliteOptions
from tests import postgres

KINDS = ("memory", "sqlite", "postgres")
# Gateways die here, power never fails: nothing has to wait for the disk.
KILLS_ONLY = SqliteOptions(synchronous="OFF", readers=1)


def laid(path: Path) -> Path:
    """Where a store in SQLite may be opened. It is there already: making it takes longer than most tests do."""
    if make_private(path):
        path.write_bytes(_new_store())
    return path


@cache
def _new_store() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "roost.db"
        open_writer(path, synchronous="OFF").close()
        return path.read_bytes()


@dataclass(frozen=True, slots=True)
class Ground:
    """A kind of store, and where it keeps its rows: a folder, or the address of a server."""

    kind: str
    folder: Path
    server: str = ""

    @property
    def durable(self) -> bool:
        """Whether a new process finds the rows. Those in memory are outlived by nothing but their store."""
        return self.kind != "memory"

    async def fresh(self, name: str) -> "Ground":
        """Another one of the kind, with nothing in it. A server has one at a time."""
        folder = self.folder / name
        folder.mkdir()
        if self.server:
            await postgres.empty(self.server)
        return replace(self, folder=folder)

    async def opened(
        self, clock: Clock, database_clock: Clock | None = None, options: SqliteOptions = KILLS_ONLY
    ) -> Store:
        """The rows as a process sees them. Leases go by the gateway's clock unless the database has its own."""
        judge = database_clock or clock
        match self.kind:
            case "memory":
                return MemoryStore(clock, judge)
            case "sqlite":
                path = laid(self.folder / "roost.db")
                return SqliteStore.open(path, clock, database_clock=judge, options=options)
            case _:
                return await PostgresStore.open(self.server, clock, database_clock=judge)


GroundOf = Callable[[str], Ground]
