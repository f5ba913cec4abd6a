"""Brings the schema of a database up to date; of several gateways that start at once, one does."""

from collections.abc import Sequence
from importlib.resources import files

from roost.core.errors import StoreCorrupt, StoreUnavailable
from roost.stores.migrations import Migration, refuse_newer
from roost.stores.postgres.connection import PostgresOptions
from roost.stores.postgres.dialect import SQL, numbered
from roost.stores.postgres.rows import Connection

MIGRATIONS = files("roost.stores.postgres") / "migrations"
_MAY_USE = "SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1"
_BEGIN = "CREATE TABLE IF NOT EXISTS roost_schema AS SELECT 0::bigint AS version"


async def migrate(connection: Connection, options: PostgresOptions, steps: Sequence[Migration]) -> None:
    """Take the steps that were not taken yet, all of them or none."""
    async with connection.transaction():
        # Not bounded as verbs are: a step may take long, and the others have nothing to do but wait for it.
        await connection.execute(numbered(SQL["keep_to_ourselves_named"]).text, f"{options.schema} schema")
        await _make_schema(connection, options.schema)
        await connection.execute(f'SET LOCAL search_path = "{options.schema}"')
        found = await version_in(connection, options.schema)
        if not found:
            await connection.execute(_BEGIN)
        refuse_newer(found, steps)
        for step in steps:
            if step.number > found:
                await connection.execute(step.script)
                await connection.execute("UPDATE roost_schema SET version = $1", step.number)


async def _make_schema(connection: Connection, schema: str) -> None:
    if await connection.fetchval("SELECT to_regnamespace($1) IS NULL", schema):
        await connection.execute(f'CREATE SCHEMA "{schema}"')


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
