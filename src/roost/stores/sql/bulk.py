"""A whole store, table by table: what there is to copy, and the copy. What is in a row is nobody's business here."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib.resources import files
from itertools import zip_longest
from typing import Protocol, TypeAlias

from roost.core.errors import Conflict, LeaseHeld, StoreCorrupt
from roost.core.fleet import Fleet
from roost.stores.sql.rows import Row
from roost.stores.statements import load

STEP = 1_000
SQL = load(files("roost.stores.sql") / "bulk.sql")

Batches: TypeAlias = AsyncGenerator[Sequence[Row], None]
Progress: TypeAlias = Callable[[int], None]
"""Hears of rows that were copied, and again when they were compared."""


@dataclass(frozen=True, slots=True)
class Table:
    """`order` are the columns that number its rows, on every database in the same order; none: as they came."""

    name: str
    order: tuple[str, ...] = ()

    def asked(self, statement: str, columns: Sequence[str] = (), arrival: str = "") -> str:
        """A statement about this table. `arrival` numbers rows by when they came."""
        return SQL[statement].format(
            table=self.name,
            columns=", ".join(columns),
            places=", ".join("?" for _ in columns),
            order=", ".join(self.order) or arrival,
        )


# No table comes before one that it refers to.
TABLES = (
    Table("gateways", ("name",)),
    Table("hostings", ("channel", "account")),
    Table("sessions", ("id",)),
    Table("lineage", ("descendant", "distance")),
    Table("participants", ("session", "principal")),
    Table("generations", ("id",)),
    Table("entries", ("id",)),
    Table("events", ("session", "number")),
    Table("ended_feeds", ("key",)),
    Table("inbound", ("seq",)),
    Table("runs", ("seq",)),
    Table("exchanges"),
    Table("completions", ("seq",)),
    Table("devices", ("name",)),
    Table("thread_bindings", ("address",)),
    Table("points", ("key", "name")),
    Table("deliveries", ("seq",)),
    Table("jobs", ("id",)),
    Table("firings", ("seq",)),
    Table("ledger", ("id",)),
    Table("budgets", ("name",)),
    Table("reservations", ("id",)),
    Table("denials", ("seq",)),
)
ENTRIES = "entries"
SEARCH = "entry_search"
"""Follows from the entries, and is made anew where they are written."""


class Source(Protocol):
    """All rows of one store in one transaction. Batches hold `STEP` rows, the last one fewer."""

    @property
    def where(self) -> str:
        """The store as it may be named to anybody."""
        ...

    async def version(self) -> int:
        """That of the schema; 0 if there is none."""
        ...

    async def fleet(self) -> Fleet: ...
    async def columns(self, table: Table) -> tuple[str, ...]: ...
    async def count(self, table: Table) -> int: ...
    def rows(self, table: Table, columns: Sequence[str]) -> Batches: ...


class Bulk(Source, Protocol):
    """The same, to be written."""

    async def write(self, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows as they are; an entry can be found by its words afterwards."""
        ...

    async def settle(self) -> None:
        """After the last row: what is added later is numbered from there on."""
        ...


async def counts(bulk: Source) -> dict[str, int]:
    """How many rows each table has."""
    return {table.name: await bulk.count(table) for table in TABLES}


async def copy(source: Source, target: Bulk, progress: Progress) -> dict[str, int]:
    """Write every row of one store to another that has none, and compare them; how many of each table. Whatever raises,
    the transaction of the target must not be committed then."""
    for bulk in (source, target):
        await refuse_served(bulk)
    await refuse_filled(target)
    shared = {table: await _shared(source, target, table) for table in TABLES}
    for table, columns in shared.items():
        async with aclosing(source.rows(table, columns)) as batches:
            async for rows in batches:
                await target.write(table, columns, rows)
                progress(len(rows))
    await target.settle()
    return {
        table.name: await _compare(source, target, table, columns, progress)
        for table, columns in shared.items()
    }


async def refuse_served(bulk: Source) -> None:
    """No gateway may work on it."""
    live = (await bulk.fleet()).live
    if live:
        names = ", ".join(f"{one.gateway.name} ({one.gateway.holder})" for one in live)
        raise LeaseHeld(f"{bulk.where} is in use by gateway {names}", hint="stop it and try again")


async def refuse_filled(bulk: Source) -> None:
    filled = [name for name, count in (await counts(bulk)).items() if count]
    if filled:
        raise Conflict(
            f"{bulk.where} is not empty: there are rows in {', '.join(filled)}",
            hint="name a new file, or another schema: postgresql://…?schema=roost2",
        )


async def _shared(source: Source, target: Source, table: Table) -> tuple[str, ...]:
    """The columns both have. What one has beside them only numbers its rows."""
    theirs = frozenset(await target.columns(table))
    return tuple(column for column in await source.columns(table) if column in theirs)


async def _compare(
    source: Source, target: Source, table: Table, columns: tuple[str, ...], progress: Progress
) -> int:
    """Row by row; how many there are."""
    number = 0
    async with aclosing(source.rows(table, columns)) as ours, aclosing(target.rows(table, columns)) as theirs:
        async for rows in ours:
            for row, copied in zip_longest(rows, await anext(theirs, ())):
                number += 1
                if row is None or copied is None or tuple(row) != tuple(copied):
                    raise StoreCorrupt(
                        f"row {number} of {table.name} did not arrive in {target.where} as it is in {source.where}",
                        hint="nothing was copied; report it",
                    )
            progress(len(rows))
        if await anext(theirs, None) is not None:
            raise StoreCorrupt(f"there are more rows in {table.name} of {target.where} than were copied")
    return number
