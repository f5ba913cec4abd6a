from pathlib import Path

import asyncpg
import pytest

from roost.core.errors import InvalidInput, LeaseHeld, StoreUnavailable
from roost.core.leases import Gateway
from roost.stores.postgres import PostgresStore
from roost.stores.postgres.bulk import reading, source, target
from roost.stores.postgres.rows import Connection
from roost.stores.sql.bulk import SEARCH, TABLES, Table, copy
from roost.stores.sqlite import bulk as sqlite
from roost.testing.clock import FakeClock
from tests import postgres
from tests.bulk import dump, filled, no_time

TABLES_OF = "SELECT tablename FROM pg_tables WHERE schemaname = 'roost' AND tablename NOT IN ('roost_schema', 'marks', 'gone', $1)"

HANG_UP = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'idle in transaction'
"""


@pytest.fixture
async def empty(postgres_server: str) -> str:
    async with target(postgres_server):
        pass
    await postgres.empty(postgres_server)
    return postgres_server


@pytest.fixture
async def full(tmp_path: Path) -> Path:
    await filled(tmp_path / "full.db")
    return tmp_path / "full.db"


async def moved(full: Path, address: str) -> None:
    async with sqlite.source(full, no_time) as ours, target(address) as theirs:
        await copy(ours, theirs, lambda rows: None)


async def test_no_table_and_no_column_is_forgotten(empty: str, bare: Connection, full: Path) -> None:
    names = {row[0] for row in await bare.fetch(TABLES_OF, SEARCH)}
    assert names == {table.name for table in TABLES}
    async with sqlite.reading(full, no_time) as theirs, reading(empty) as ours:
        for table in TABLES:
            own = [] if table.name != "exchanges" else ["seq"]
            assert sorted(await ours.columns(table)) == sorted([*await theirs.columns(table), *own])


async def test_there_and_back_every_row_is_as_it_was(empty: str, full: Path, tmp_path: Path) -> None:
    await moved(full, empty)
    async with source(empty) as ours, sqlite.target(tmp_path / "back.db", no_time) as theirs:
        copied = await copy(ours, theirs, lambda rows: None)
    async with (
        sqlite.reading(full, no_time) as before,
        sqlite.reading(tmp_path / "back.db", no_time) as after,
    ):
        assert await dump(before) == await dump(after)
    assert min(copied.values()) >= 3


async def test_what_comes_later_is_numbered_after_what_was_copied(
    empty: str, full: Path, bare: Connection
) -> None:
    await moved(full, empty)
    inserted = await bare.fetchval(
        "INSERT INTO roost.denials (principal, at, operation, rule, reason) VALUES ('p', 1, 'o', 'r', 'w') RETURNING seq"
    )
    assert inserted == 4
    found = await bare.fetch(
        "SELECT entry FROM roost.entry_search WHERE tokens @@ 'zebra'::tsquery ORDER BY entry"
    )
    assert [row[0] for row in found] == [1, 2, 3]


async def test_a_copy_that_fails_leaves_nothing(empty: str, full: Path) -> None:
    async with sqlite.source(full, no_time) as ours:
        # What this database cannot hold comes last.
        ours._connection.execute("UPDATE denials SET reason = 'a' || char(0) WHERE seq = 3")
        with pytest.raises(InvalidInput, match="cannot be stored"):
            async with target(empty) as theirs:
                await copy(ours, theirs, lambda rows: None)
    async with reading(empty) as left:
        assert [await left.count(table) for table in (*TABLES, Table(SEARCH))] == [0] * (len(TABLES) + 1)


async def test_a_served_store_is_not_copied_and_its_gateway_is_named(empty: str, tmp_path: Path) -> None:
    store = await PostgresStore.open(empty, FakeClock())
    lease = await store.acquire_lease(Gateway(name="busy", holder="process 7"))
    async with sqlite.target(tmp_path / "new.db", no_time) as theirs:
        with pytest.raises(LeaseHeld, match=r"busy .process 7."):
            async with source(empty) as ours:
                await copy(ours, theirs, lambda rows: None)
    await store.release_lease(lease)
    await store.close()


async def test_nobody_begins_to_serve_a_store_while_it_is_copied(empty: str, bare: Connection) -> None:
    async with source(empty):
        await bare.execute("SET lock_timeout = 100")
        with pytest.raises(asyncpg.LockNotAvailableError):
            await bare.execute("DELETE FROM roost.gateways")


async def test_a_store_that_is_not_there_is_told(postgres_server: str) -> None:
    with pytest.raises(StoreUnavailable, match="no store of Roost in schema nowhere of postgresql:"):
        async with source(f"{postgres_server}&schema=nowhere"):
            pass
    with pytest.raises(StoreUnavailable, match="nothing"):
        async with reading(postgres_server.replace("/postgres?", "/nothing?")):
            pass


async def test_a_connection_that_is_lost_is_told(empty: str, bare: Connection) -> None:
    async def hang_up() -> None:
        async with reading(empty) as found:
            await bare.execute(HANG_UP)
            await found.count(TABLES[0])

    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await hang_up()
