"""A store that is a few rows, and what is left of it without a person."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import apsw

from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.erasing import Person
from roost.core.fleet import Fleet
from roost.core.identities import IdentityLink
from roost.core.principals import Principal
from roost.stores.migrations import steps_in
from roost.stores.sql.bulk import STEP, TABLES, Batches, Table
from roost.stores.sql.descent import Fields
from roost.stores.sql.erasing import Without
from roost.stores.sql.rows import Binding
from roost.stores.sqlite.bulk import COLUMNS as NAMES
from roost.stores.sqlite.structure import MIGRATIONS
from tests.bulk import NUMBERS

EVE = Principal.parse("person:telegram:7")
HERS = "agent:main:telegram:direct:7"
GROUP = "agent:main:telegram:group:-1"
PLACES = {"origin": "{}", "labels": "{}", "body": "{}", "route": None, "terms": None}


@dataclass
class Rows:
    """A store that is a few rows."""

    held: dict[str, list[Fields]] = field(default_factory=dict)
    where: str = "here"

    def add(self, table: str, **fields: Binding) -> None:
        rows = self.held.setdefault(table, [])
        columns = self._columns(table)
        assert fields.keys() <= set(columns), (table, fields.keys() - set(columns))
        blank = {name: 0 if name in NUMBERS[table] else PLACES.get(name, "") for name in columns}
        rows.append({**blank, **fields})

    def _columns(self, table: str) -> tuple[str, ...]:
        return COLUMNS[table]

    async def version(self) -> int:
        return 1

    async def fleet(self) -> Fleet:
        return Fleet(now=0, leases=())

    async def columns(self, table: Table) -> tuple[str, ...]:
        return self._columns(table.name)

    async def count(self, table: Table) -> int:
        return len(self.held.get(table.name, ()))

    async def rows(self, table: Table, columns: Sequence[str]) -> Batches:
        found = self.held.get(table.name, [])
        for start in range(0, len(found), STEP):
            yield [tuple(row[name] for name in columns) for row in found[start : start + STEP]]


def _columns() -> dict[str, tuple[str, ...]]:
    connection = apsw.Connection(":memory:")
    for step in steps_in(MIGRATIONS):
        connection.execute(step.script).fetchall()
    return {
        table.name: tuple(str(row[0]) for row in connection.execute(NAMES, (table.name,))) for table in TABLES
    }


COLUMNS = _columns()


def eve(*links: IdentityLink) -> Person:
    return Person.named("telegram:7", links, KNOWN_CHANNELS, "secret")


async def left(rows: Rows, person: Person | None = None) -> dict[str, list[Fields]]:
    """What there is without her; tables with nothing in them are not named."""
    without = Without(rows, person or eve())
    await without.look()
    found: dict[str, list[Fields]] = {}
    for table in TABLES:
        columns = await without.columns(table)
        listed = [row async for batch in without.rows(table, columns) for row in batch]
        assert await without.count(table) == len(listed)
        if listed:
            found[table.name] = [dict(zip(columns, row, strict=True)) for row in listed]
    return found
