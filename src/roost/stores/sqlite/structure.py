"""What a store in SQLite is made of. SQLite keeps the text of each statement that made a part of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import apsw

from roost.stores.migrations import Migration, steps_in
from roost.stores.statements import load
from roost.stores.structures import Structure, refuse_incomplete, refuse_unlike

MIGRATIONS = files("roost.stores.sqlite") / "migrations"
SQL = load(files("roost.stores.sqlite") / "structure.sql")


def refuse_other_structure(connection: apsw.Connection, where: str, *, damaged: bool = False) -> None:
    """Raise for a store whose tables and indexes are not those of its schema. `damaged`: some may be missing. Tables
    that others put beside them are nobody's business."""
    version = connection.pragma("user_version")
    expected = structure_after(tuple(step for step in steps_in(MIGRATIONS) if step.number <= version))
    present = {
        str(name): str(sql) for name, sql, table in connection.execute(SQL["parts"]) if table in expected
    }
    refuse_unlike(where, version, expected, present)
    if not damaged:
        refuse_incomplete(where, expected, present)


@cache
def structure_after(steps: tuple[Migration, ...]) -> Structure:
    """The statements that make each table and index, by name, tables first."""
    with made(steps) as fresh:
        return MappingProxyType({str(name): str(sql) for name, sql, _ in fresh.execute(SQL["parts"])})


@contextmanager
def made(steps: tuple[Migration, ...]) -> Iterator[apsw.Connection]:
    """A store as it is made."""
    fresh = apsw.Connection(":memory:")
    try:
        for step in steps:
            fresh.execute(step.script).fetchall()
        yield fresh
    finally:
        fresh.close()
