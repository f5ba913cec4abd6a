"""What can be wrong with a store in SQLite, and how it is found."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import apsw

from roost.core.errors import StoreCorrupt
from roost.core.messages import Body
from roost.core.search import searchable_text
from roost.stores.bodies import load_body
from roost.stores.migrations import steps_in
from roost.stores.sqlite.structure import MIGRATIONS, made, structure_after
from roost.stores.statements import load
from roost.stores.structures import Structure

SQL = {
    **load(files("roost.stores.sql") / "checks.sql"),
    **load(files("roost.stores.sqlite") / "repair.sql"),
    **load(files("roost.stores.sqlite") / "structure.sql"),
}
CHECKS = (
    "headless_sessions",
    "miscounted_sessions",
    "gapped_generations",
    "gapped_events",
    "unlinked_children",
    "stray_search_rows",
    "misstated_runs",
    "misstated_inbound",
    "misstated_deliveries",
    "miscounted_budgets",
)


def expected_structure() -> Structure:
    return structure_after(steps_in(MIGRATIONS))


@cache
def expected_statistics() -> frozenset[tuple[str, ...]]:
    """What plans are made by."""
    with made(steps_in(MIGRATIONS)) as fresh:
        return statistics(fresh)


def statistics(connection: apsw.Connection) -> frozenset[tuple[str, ...]]:
    try:
        return frozenset(tuple(map(str, row)) for row in connection.execute(SQL["statistics"]))
    except apsw.SQLError:
        # There is not even a place for them.
        return frozenset()


def faults(connection: apsw.Connection) -> tuple[str, ...]:
    """What is wrong, one line each."""
    return tuple(_faults(connection))


def first_fault(connection: apsw.Connection) -> str | None:
    """Whether the file is in itself a sound one; far quicker than all that `faults` looks at."""
    found = str(connection.execute("PRAGMA quick_check(1)").get)
    return None if found == "ok" else found


def _faults(connection: apsw.Connection) -> Iterator[str]:
    for row in connection.execute("PRAGMA integrity_check"):
        if row[0] != "ok":
            yield f"integrity: {row[0]}"
    for row in connection.execute("PRAGMA foreign_key_check"):
        yield f"reference: {row}"
    present = {row[0] for row in connection.execute(SQL["parts"])}
    for name in expected_structure():
        if name not in present:
            yield f"missing: {name}"
    if statistics(connection) != expected_statistics():
        yield "statistics: sessions may be found slowly"
    for name in (*CHECKS, "unsearchable_entries"):
        try:
            for found in _found(connection, name):
                yield f"{name}: {found}"
        except apsw.SQLError as error:
            # Said of a table that is missing, which is a fault of its own.
            yield f"{name}: {error}"


def _found(connection: apsw.Connection, check: str) -> Iterator[object]:
    if check in CHECKS:
        yield from (row[0] for row in connection.execute(SQL[check]))
        return
    for number, text in connection.execute(SQL["unindexed_entries"]):
        body = readable(str(text))
        if body is not None and searchable_text(body):
            yield number


def readable(text: str) -> Body | None:
    """The body of an entry; None where there is no sense in it, which only a backup can mend."""
    try:
        return load_body(text)
    except StoreCorrupt:
        return None
