"""Brings the schema of a database up to date; of several gateways that start at once, one does."""

from collections.abc import Sequence
from importlib.resources import files

from roost.core.errors import StoreCorrupt, StoreUnavailable
from roost.stores.migrations import Migration, fingerprint, refuse_newer
from roost.stores.postgres.connection import PostgresOptions
from roost.stores.postgres.dialect import SQL, numbered
from roost.stores.postgres.rows import Connection
from roost.stores.structures import refuse_unlike

MIGRATIONS = files("roost.stores.postgres") / "migrations"
_MAY_USE = "SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1"
_BEGIN = "CREATE TABLE IF NOT EXISTS roost_schema AS SELECT 0::bigint AS version, ''::text AS made_by"
# One of an early build does not say.
_MADE_BY = "SELECT to_jsonb(roost_schema) ->> 'made_by' FROM roost_schema"
_MAY_SAY = "ALTER TABLE roost_schema ADD COLUMN IF NOT EXISTS made_by text"


async def migrate(connection: Connection, options: PostgresOptions, steps: Sequence[Migration]) -> None:
    """Take the steps that were not taken yet, all of them or none."""
    async with connection.transaction():
        # Not bounded as verbs are: a step may take long, and the others have nothing to do but wait for it.
        await connection.execute(numbered(SQL["keep_to_ourselves_named"]).text, f"{options.schema} schema")
        await _make_schema(connection, options.schema)
        await connection.execute(f'SET LOCAL search_path = "{options.schema}"')
        found = await version_in(connection, options.schema)
        refuse_newer(found, steps)
        if not found:
            await connection.execute(_BEGIN)
        elif await _made_by(connection) != fingerprint(steps[:found]):
            await _refuse_unlike(connection, options.schema, steps[:found])
            await connection.execute(_MAY_SAY)
        elif found == len(steps):
            return
        for step in steps[found:]:
            await connection.execute(step.script)
        await connection.execute(
            "UPDATE roost_schema SET version = $1, made_by = $2", steps[-1].number, fingerprint(steps)
        )


async def _make_schema(connection: Connection, schema: str) -> None:
    if await connection.fetchval("SELECT to_regnamespace($1) IS NULL", schema):
        await connection.execute(f'CREATE SCHEMA "{schema}"')


async def refuse_other_structure(connection: Connection, schema: str, steps: Sequence[Migration]) -> None:
    """Raise for a store that says it has taken these steps, and was made otherwise."""
    if await _made_by(connection) != fingerprint(steps):
        await _refuse_unlike(connection, schema, steps)


async def _made_by(connection: Connection) -> str | None:
    return await connection.fetchval(_MADE_BY)  # type: ignore[no-any-return]


async def _refuse_unlike(connection: Connection, schema: str, steps: Sequence[Migration]) -> None:
    """What the steps make is seen by taking them once more, in a place that is gone afterwards."""
    present = await _parts(connection)
    await connection.execute("SAVEPOINT looking; SET LOCAL search_path = pg_temp")
    for step in steps:
        await connection.execute(step.script)
    expected = await _parts(connection)
    await connection.execute("ROLLBACK TO looking")
    made = {name: made for (table, name), made in expected.items()}
    tables = {table for table, _ in expected}
    found = {name: made for (table, name), made in present.items() if table in tables}
    # Nothing here makes a missing one anew.
    refuse_unlike(f"the schema {schema}", len(steps), made, {**dict.fromkeys(made, ""), **found})


async def _parts(connection: Connection) -> dict[tuple[str, str], str]:
    """How each table, index and reference is made, by its table and its name."""
    return {(row[0], row[1]): row[2] for row in await connection.fetch(SQL["parts"])}


async def version_in(connection: Connection, schema: str) -> int:
    """How far the schema that the connection looks into has come; 0 where there is no store in it. One that this user may
    not use looks as empty as one that is: so that is asked first."""
    if await connection.fetchval(_MAY_USE, schema) is False:
        raise StoreUnavailable(
            f"the schema {schema} does not let this user work",
            hint="let it own the schema and its tables, or GRANT it USAGE and CREATE there and ALL on them",
        )
    if await connection.fetchval("SELECT to_regclass('roost_schema') IS NOT NULL"):
        return int(await connection.fetchval("SELECT version FROM roost_schema"))
    if await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = $1", schema):
        raise StoreCorrupt(
            f"the schema {schema} belongs to another program",
            hint="name another one: postgresql://…?schema=roost2",
        )
    return 0
