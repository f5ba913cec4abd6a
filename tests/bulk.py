"""A SQLite store with rows in every table, to be copied, and all rows of a store."""

from collections.abc import Sequence
from pathlib import Path

import apsw

from roost.stores.bodies import dump_body
from roost.stores.migrations import steps_in
from roost.stores.sql.bulk import STEP, TABLES, Bulk, Table
from roost.stores.sql.rows import Binding, Row
from roost.stores.sqlite import bulk
from roost.stores.sqlite.structure import MIGRATIONS
from roost.testing.builders import said

TYPES = "SELECT name, type FROM pragma_table_xinfo(?)"
LONG = "events"


def no_time() -> int:
    return 1_000_000


async def filled(path: Path) -> None:
    """A few rows in each table, more than a step in one."""
    async with bulk.target(path, no_time) as store:
        for table in TABLES:
            columns = await store.columns(table)
            count = STEP + 7 if table.name == LONG else 3
            await store.write(
                table, columns, [_row(table, columns, number) for number in range(1, count + 1)]
            )
        await store.settle()


def _row(table: Table, columns: Sequence[str], number: int) -> Row:
    return tuple(_value(table.name, column, number) for column in columns)


def _value(table: str, column: str, number: int) -> Binding:
    """Text that tells where it is from; numbers where the schema has numbers."""
    match table, column:
        case "entries", "body":
            return dump_body(said("e", f"zebra {number} ☂").body)
        case _, "body":
            return f'{{"created_at":{number},"phase":"done","outcome":null}}'
        case "events" | "participants" | "generations", "session":
            return 1
        case "entries", "generation":
            return 1
        # Later ones sort before earlier ones.
        case "exchanges", "id":
            return f"exchange {9 - number}"
        case "gateways", "expires_at":
            return 0
    if column in NUMBERS[table]:
        return number
    return None if number == 2 and column in ("label", "caller") else f"{column} {number} ☂"


def _numbers() -> dict[str, frozenset[str]]:
    fresh = apsw.Connection(":memory:")
    for step in steps_in(MIGRATIONS):
        fresh.execute(step.script).fetchall()
    return {
        table.name: frozenset(
            str(name) for name, kind in fresh.execute(TYPES, (table.name,)) if kind == "INTEGER"
        )
        for table in TABLES
    }


NUMBERS = _numbers()


async def dump(store: Bulk) -> dict[str, list[Row]]:
    """Every row of every table, without what only numbers the rows of one database."""
    found: dict[str, list[Row]] = {}
    for table in TABLES:
        columns = [one for one in await store.columns(table) if (table.name, one) != ("exchanges", "seq")]
        found[table.name] = [tuple(row) async for rows in store.rows(table, columns) for row in rows]
    return found
