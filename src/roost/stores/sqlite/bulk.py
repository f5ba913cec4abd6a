"""All rows of a SQLite store at once, to be copied or counted."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import apsw

from roost.core.fleet import Fleet
from roost.stores.migrations import refuse_older, steps_in
from roost.stores.sql.bulk import STEP, Batches, Table
from roost.stores.sql.rows import TENANT, Row
from roost.stores.sqlite.checking import first_fault
from roost.stores.sqlite.connection import (
    ENGINE_ERRORS,
    make_private,
    open_existing,
    open_writer,
    transaction,
    translated,
)
from roost.stores.sqlite.structure import MIGRATIONS
from roost.stores.sqlite.tables import SqliteTables

COLUMNS = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid"
# Each row came after those with smaller numbers.
ARRIVAL = "rowid"


class SqliteBulk:
    """`Bulk` on a connection with a transaction of its own."""

    def __init__(self, connection: apsw.Connection, path: Path, now: Callable[[], int]) -> None:
        self._connection = connection
        self._tables = SqliteTables(connection, TENANT, now)
        self.where = str(path)

    async def version(self) -> int:
        return int(self._connection.pragma("user_version"))

    async def fleet(self) -> Fleet:
        tables = self._tables
        return Fleet(now=await tables.database_now(), leases=await tables.leases())

    async def columns(self, table: Table) -> tuple[str, ...]:
        return tuple(str(row[0]) for row in self._connection.execute(COLUMNS, (table.name,)))

    async def count(self, table: Table) -> int:
        row: Any = self._connection.execute(table.asked("count")).fetchone()
        return int(row[0])

    async def rows(self, table: Table, columns: Sequence[str]) -> Batches:
        cursor = self._connection.execute(table.asked("rows", columns, ARRIVAL))
        while rows := list(islice(cursor, STEP)):
            yield rows

    async def write(self, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> None:
        self._connection.executemany(table.asked("write", columns), [tuple(row) for row in rows])

    async def summarise(self) -> None:
        """What lists show of transcripts is worked out again."""
        after: int | None = 0
        while after is not None:
            after = self._tables.summarise_sessions(after, STEP)

    def first_fault(self) -> str | None:
        return first_fault(self._connection)

    async def settle(self) -> None:
        through = self._tables.drop_search()
        after: int | None = 0
        while after is not None:
            after = self._tables.index_entries(after, through, STEP)


@asynccontextmanager
async def reading(path: Path, now: Callable[[], int]) -> AsyncIterator[SqliteBulk]:
    """As it is at this moment, whoever works on it."""
    with _transaction(open_existing(path), path, "DEFERRED") as connection:
        yield SqliteBulk(connection, path, now)


@asynccontextmanager
async def source(path: Path, now: Callable[[], int]) -> AsyncIterator[SqliteBulk]:
    """Nobody writes to it meanwhile."""
    with _transaction(open_existing(path), path, "IMMEDIATE") as connection:
        bulk = SqliteBulk(connection, path, now)
        refuse_older(bulk.where, await bulk.version(), steps_in(MIGRATIONS))
        yield bulk


@asynccontextmanager
async def target(path: Path, now: Callable[[], int]) -> AsyncIterator[SqliteBulk]:
    """Made if it is not there. An error leaves nothing behind."""
    made = make_private(path)
    try:
        with _transaction(open_writer(path), path, "IMMEDIATE") as connection:
            yield SqliteBulk(connection, path, now)
    except BaseException:
        if made:
            await anyio.Path(path).unlink(missing_ok=True)
        raise


@contextmanager
def _transaction(connection: apsw.Connection, path: Path, mode: str) -> Iterator[apsw.Connection]:
    try:
        with transaction(connection, mode):
            yield connection
    except ENGINE_ERRORS as error:
        raise translated(error, path) from error
    finally:
        connection.close()
