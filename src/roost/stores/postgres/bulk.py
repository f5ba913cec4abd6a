"""All rows of a PostgreSQL store at once, to be copied or counted."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from roost.core.fleet import Fleet
from roost.stores.bodies import load_body
from roost.stores.migrations import refuse_older, steps_in
from roost.stores.postgres.address import read_address, without_password
from roost.stores.postgres.connection import (
    CONNECT_SECONDS,
    DRIVER_ERRORS,
    LOCK_MS,
    PostgresOptions,
    connect,
    translated,
)
from roost.stores.postgres.dialect import SQL, numbered
from roost.stores.postgres.migrating import MIGRATIONS, migrate, refuse_other_structure, version_in
from roost.stores.postgres.rows import Connection
from roost.stores.postgres.search_rows import search_row
from roost.stores.postgres.tables import PostgresTables
from roost.stores.sql.bulk import ENTRIES, SEARCH, STEP, TABLES, Batches, Table
from roost.stores.sql.bulk import SQL as BULK
from roost.stores.sql.rows import TENANT, Row

ARRIVAL = "seq"


class PostgresBulk:
    """`Bulk` on a connection with a transaction of its own."""

    def __init__(self, connection: Connection, schema: str, where: str) -> None:
        self._connection = connection
        self._schema = schema
        self.where = where

    async def version(self) -> int:
        return await version_in(self._connection, self._schema)

    async def fleet(self) -> Fleet:
        tables = PostgresTables(self._connection, TENANT, None)
        return Fleet(now=await tables.database_now(), leases=await tables.leases())

    async def columns(self, table: Table) -> tuple[str, ...]:
        rows = await self._connection.fetch(SQL["columns"], table.name)
        return tuple(str(row[0]) for row in rows)

    async def count(self, table: Table) -> int:
        return int(await self._connection.fetchval(table.asked("count")))

    async def rows(self, table: Table, columns: Sequence[str]) -> Batches:
        cursor = await self._connection.cursor(table.asked("rows", columns, ARRIVAL))
        while rows := await cursor.fetch(STEP):
            yield rows

    async def write(self, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> None:
        await self._connection.copy_records_to_table(
            table.name, records=rows, columns=columns, schema_name=self._schema
        )
        if table.name == ENTRIES:
            await self._index([dict(zip(columns, row, strict=True)) for row in rows])

    async def settle(self) -> None:
        for table, column in await self._connection.fetch(SQL["identities"]):
            await self._connection.execute(BULK["number_on"].format(table=table, column=column))

    async def _index(self, entries: Sequence[dict[str, object]]) -> None:
        found = [
            search_row(int(str(one["generation"])), int(str(one["seq"])), load_body(str(one["body"])))
            for one in entries
        ]
        await self._connection.executemany(
            numbered(SQL["insert_search"]).text, [row for row in found if row is not None]
        )


@asynccontextmanager
async def reading(address: str) -> AsyncIterator[PostgresBulk]:
    """As it is at this moment, whoever works on it."""
    async with (
        _connected(address) as (connection, options, where),
        _transaction(connection, options, "ISOLATION LEVEL REPEATABLE READ READ ONLY"),
    ):
        yield PostgresBulk(connection, options.schema, where)


@asynccontextmanager
async def source(address: str) -> AsyncIterator[PostgresBulk]:
    """Nobody writes to it meanwhile."""
    async with _connected(address) as (connection, options, where), _transaction(connection, options):
        bulk = PostgresBulk(connection, options.schema, where)
        steps = steps_in(MIGRATIONS)
        refuse_older(f"schema {options.schema} of {where}", await bulk.version(), steps)
        await refuse_other_structure(connection, options.schema, steps)
        await _lock(connection)
        yield bulk


@asynccontextmanager
async def target(address: str) -> AsyncIterator[PostgresBulk]:
    """Its tables are made if they are not there. An error leaves them empty."""
    async with _connected(address) as (connection, options, where):
        await migrate(connection, options, steps_in(MIGRATIONS))
        async with _transaction(connection, options):
            await _lock(connection)
            yield PostgresBulk(connection, options.schema, where)


async def _lock(connection: Connection) -> None:
    names = ", ".join((*(table.name for table in TABLES), SEARCH))
    await connection.execute(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")


@asynccontextmanager
async def _transaction(
    connection: Connection, options: PostgresOptions, mode: str = ""
) -> AsyncIterator[None]:
    """As long as it takes: nobody waits for it who could do anything else."""
    await connection.execute(
        f'BEGIN {mode}; SET LOCAL search_path = "{options.schema}"; SET LOCAL lock_timeout = {LOCK_MS};'
        " SET LOCAL idle_in_transaction_session_timeout = 0"
    )
    try:
        yield
    except BaseException:
        # The server undoes what it hears no end of.
        connection.terminate()
        raise
    await connection.execute("COMMIT")


@asynccontextmanager
async def _connected(address: str) -> AsyncIterator[tuple[Connection, PostgresOptions, str]]:
    driver, options = read_address(address)
    where = without_password(address)
    try:
        connection = await connect(driver, timeout=CONNECT_SECONDS, statement_cache_size=0)
        try:
            yield connection, options, where
        finally:
            await connection.close(timeout=CONNECT_SECONDS)
    except DRIVER_ERRORS as error:
        raise translated(error, where) from error
