import apsw
import pytest

from roost.core.entries import Entry
from roost.stores.sqlite.checking import expected_structure, faults, readable
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from roost.testing.builders import MAIN, said
from tests.unit.stores.conftest import open_session


def test_the_structure_is_that_of_the_migrations_tables_before_indexes() -> None:
    names = list(expected_structure())
    assert {"sessions", "entry_search", "runs_active"} <= set(names)
    assert names.index("ledger") < names.index("runs_active")
    assert not any(name.startswith("entry_search_") for name in names)


def test_a_fresh_store_is_sound(connection: apsw.Connection) -> None:
    assert faults(connection) == ()


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("DROP INDEX runs_active", "missing: runs_active"),
        ("DROP TABLE entry_search", "missing: entry_search"),
        ("DROP TABLE entry_search", "stray_search_rows: no such table: entry_search_docsize"),
        ("DELETE FROM entry_search WHERE rowid = 1", "unsearchable_entries: 1"),
        ("INSERT INTO entry_search (rowid, body) VALUES (9, 'x')", "stray_search_rows: 9"),
        ("UPDATE sessions SET entries = 2", "miscounted_sessions: agent:main:main"),
    ],
)
def test_damage_is_named(connection: apsw.Connection, tables: SqliteTables, damage: str, fault: str) -> None:
    open_session(tables)
    connection.execute("UPDATE sessions SET session_id = ? WHERE key = ?", (f"{MAIN}-1", str(MAIN)))
    entry = Entry(session_id=f"{MAIN}-1", seq=1, id="e", body=said("e", "zebra").body)
    drive(tables.insert_entries(MAIN, (entry,)))
    connection.execute("UPDATE sessions SET entries = 1")
    assert faults(connection) == ()
    connection.execute(damage)
    assert fault in faults(connection)


def test_a_body_without_sense_is_none() -> None:
    assert readable("{") is None
