import asyncio
from importlib.resources import files

import asyncpg
import pytest

from roost.core.errors import StoreCorrupt, StoreUnavailable
from roost.stores.migrations import Migration, fingerprint, steps_in
from roost.stores.postgres import PostgresStore
from roost.stores.postgres.bulk import source
from roost.stores.postgres.connection import PostgresOptions
from roost.stores.postgres.migrating import MIGRATIONS, migrate
from roost.stores.postgres.rows import Connection
from roost.testing.clock import FakeClock

SCHEMA = files("roost.stores.postgres") / "schema.sql"
OPTIONS = PostgresOptions(schema="steps")
COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name, is_identity
FROM information_schema.columns WHERE table_schema = $1 AND table_name <> 'roost_schema' ORDER BY 1, ordinal_position
"""
INDEXES = "SELECT replace(indexdef, $1 || '.', '') FROM pg_indexes WHERE schemaname = $1 ORDER BY 1"
FIRST = Migration(1, "CREATE TABLE a (x bigint); INSERT INTO a VALUES (1)")


@pytest.fixture(autouse=True)
async def cleared(bare: Connection) -> None:
    await bare.execute("DROP SCHEMA IF EXISTS steps CASCADE; DROP SCHEMA IF EXISTS whole CASCADE")


async def shape_of(connection: Connection, schema: str) -> list[tuple[object, ...]]:
    found = await connection.fetch(COLUMNS, schema) + await connection.fetch(INDEXES, schema)
    return [tuple(row) for row in found]


async def test_the_steps_together_make_the_schema(bare: Connection) -> None:
    await migrate(bare, OPTIONS, steps_in(MIGRATIONS))
    await bare.execute("CREATE SCHEMA whole; SET search_path = whole")
    await bare.execute(SCHEMA.read_text(encoding="utf-8"))
    assert await shape_of(bare, "steps") == await shape_of(bare, "whole")


async def test_of_several_that_start_at_once_one_takes_each_step(
    postgres_server: str, bare: Connection
) -> None:
    opened = [await asyncpg.connect(postgres_server) for _ in range(4)]
    await asyncio.gather(*(migrate(one, OPTIONS, (FIRST,)) for one in opened))
    for one in opened:
        await one.close()
    assert await bare.fetchval("SELECT count(*) FROM steps.a") == 1
    assert await bare.fetchval("SELECT version FROM steps.roost_schema") == 1


@pytest.mark.requirement("P5")
async def test_a_step_that_fails_leaves_the_state_before_it(bare: Connection) -> None:
    await migrate(bare, OPTIONS, (FIRST,))
    broken = Migration(2, "CREATE TABLE b (x bigint); INSERT INTO a VALUES (2); nonsense")
    with pytest.raises(asyncpg.PostgresSyntaxError):
        await migrate(bare, OPTIONS, (FIRST, broken))
    assert await bare.fetchval("SELECT count(*) FROM steps.a") == 1
    assert await bare.fetchval("SELECT to_regclass('steps.b') IS NULL")
    await migrate(bare, OPTIONS, (FIRST, Migration(2, "INSERT INTO a VALUES (2)")))
    assert await bare.fetchval("SELECT count(*) FROM steps.a") == 2


async def test_a_schema_of_a_newer_roost_and_one_of_another_program_are_refused(bare: Connection) -> None:
    await migrate(bare, OPTIONS, (FIRST, Migration(2, "SELECT 1")))
    with pytest.raises(StoreUnavailable, match="newer Roost"):
        await migrate(bare, OPTIONS, (FIRST,))
    await bare.execute("CREATE SCHEMA whole; CREATE TABLE whole.theirs (x bigint)")
    with pytest.raises(StoreCorrupt, match="another program"):
        await migrate(bare, PostgresOptions(schema="whole"), (FIRST,))


OTHERWISE = {
    "a column more": ("ALTER TABLE runs ADD COLUMN mood text NOT NULL", "runs"),
    "a column less": ("ALTER TABLE sessions DROP COLUMN preview", "sessions"),
    "another index": ("DROP INDEX runs_aside; CREATE INDEX runs_aside ON runs (state)", "runs_aside"),
    "an index less": ("DROP INDEX runs_aside", "runs_aside"),
    "an index more": ("CREATE UNIQUE INDEX runs_by_mood ON runs (state)", "runs_by_mood"),
    "a table less": ("DROP TABLE ended_feeds", "ended_feeds"),
    "a rule more": ("ALTER TABLE runs ADD CONSTRAINT late CHECK (state <> '')", "late"),
}


async def made_by_another(connection: Connection, statement: str) -> None:
    """The same number of steps; of which, nobody said yet."""
    await migrate(connection, OPTIONS, steps_in(MIGRATIONS))
    await connection.execute(
        f"SET search_path = steps; ALTER TABLE roost_schema DROP COLUMN made_by; {statement}; RESET search_path"
    )


@pytest.mark.parametrize(("statement", "named"), OTHERWISE.values(), ids=OTHERWISE.keys())
async def test_a_store_of_another_build_is_refused_when_it_is_opened(
    postgres_server: str, bare: Connection, statement: str, named: str
) -> None:
    await made_by_another(bare, statement)
    address = f"{postgres_server}&schema=steps"
    with pytest.raises(
        StoreCorrupt, match=rf"of another build of Roost.*schema \d+ and differs from that in {named}"
    ) as refused:
        await PostgresStore.open(address, FakeClock())
    assert "export" in refused.value.hint
    with pytest.raises(StoreCorrupt, match="of another build"):
        async with source(address):
            """It does not come to this."""


@pytest.mark.parametrize("also", ["SELECT 1", "CREATE TABLE replicas (x bigint PRIMARY KEY)"])
async def test_a_store_that_is_made_as_here_is_taken_whoever_made_it(
    postgres_server: str, bare: Connection, also: str
) -> None:
    await made_by_another(bare, also)
    for _ in range(2):
        store = await PostgresStore.open(f"{postgres_server}&schema=steps", FakeClock())
        await store.close()
    assert await bare.fetchval("SELECT made_by FROM steps.roost_schema") == fingerprint(steps_in(MIGRATIONS))
    assert await bare.fetchval("SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()") == 0


async def test_a_schema_that_this_user_may_not_use_is_not_taken_for_another_programs(
    postgres_server: str, bare: Connection
) -> None:
    await migrate(bare, OPTIONS, (FIRST,))
    await bare.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    guest = await asyncpg.connect(postgres_server.replace("roost@", "guest@"))
    with pytest.raises(StoreUnavailable, match=r"schema steps does not let this user work.*GRANT"):
        await migrate(guest, OPTIONS, (FIRST,))
    await guest.close()
