import apsw

from roost.stores.sqlite.rows import SQL, SqliteRows
from roost.stores.tables import drive
from roost.testing.clock import NOON


def test_a_statement_of_the_file_stands_for_the_shared_one_of_its_name(connection: apsw.Connection) -> None:
    assert "MATCH" in SQL["where_matching"]
    assert "FROM runs" in SQL["run"]


def test_rows_tell_what_was_found_and_what_was_changed(connection: apsw.Connection) -> None:
    rows = SqliteRows(connection, "default", lambda: NOON)
    for pair in (("a", 1), ("b", 2)):
        assert drive(rows._changed("INSERT INTO ended_feeds VALUES (?, ?)", pair)) == 1
    assert drive(rows._rows("SELECT last FROM ended_feeds ORDER BY key", ())) == [(1,), (2,)]
    assert drive(rows._row("SELECT last FROM ended_feeds WHERE key = :key", {"key": "b"})) == (2,)
    assert drive(rows._row("SELECT last FROM ended_feeds WHERE key = ?", ("c",))) is None
    assert drive(rows._changed("UPDATE ended_feeds SET last = 3", ())) == 2
    assert drive(rows.database_now()) == NOON
