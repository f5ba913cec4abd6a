"""Rows of an empty store on a real server, in a transaction that is undone."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from roost.stores.migrations import steps_in
from roost.stores.postgres.checking import CheckedTables
from roost.stores.postgres.connection import PostgresOptions
from roost.stores.postgres.migrating import MIGRATIONS, migrate
from roost.stores.postgres.rows import Connection
from roost.stores.postgres.tables import WriterTables
from roost.testing.clock import FakeClock
from tests import postgres

OPTIONS = PostgresOptions()


@pytest.fixture
async def bare(postgres_server: str) -> AsyncIterator[Connection]:
    """A connection with nothing under way."""
    connection = await asyncpg.connect(postgres_server)
    yield connection
    await connection.close()


@pytest.fixture
async def connection(postgres_server: str, bare: Connection) -> AsyncIterator[Connection]:
    await postgres.empty(postgres_server)
    await migrate(bare, OPTIONS, steps_in(MIGRATIONS))
    await bare.execute(OPTIONS.begin())
    yield bare
    await bare.execute("ROLLBACK")


@pytest.fixture
def tables(connection: Connection) -> WriterTables:
    return WriterTables(connection, "default", FakeClock())


@pytest.fixture
def checked(connection: Connection) -> CheckedTables:
    return CheckedTables(connection, "default", None)
