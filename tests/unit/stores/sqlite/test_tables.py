from dataclasses import replace

import apsw
import pytest

from roost.core.entries import Entry
from roost.core.keys import SessionKey
from roost.core.runs import RunState
from roost.core.sessions import Session
from roost.stores.sqlite.tables import HOT_RUNS, HOT_SESSIONS, SqliteTables, WriterTables
from roost.stores.tables import drive
from roost.testing.builders import MAIN, run, said, session
from tests.unit.stores.conftest import open_session


def change_behind_its_back(connection: apsw.Connection) -> None:
    connection.execute("UPDATE sessions SET version = 99")


def locked(tables: SqliteTables, key: SessionKey = MAIN) -> Session:
    found = drive(tables.lock_session(key))
    assert found is not None
    return found


def grown(was: Session, version: int) -> Session:
    """As an append leaves it."""
    return was._replace(version=version, times=was.times._replace(updated=was.times.updated + version))


def test_the_writer_remembers_what_it_read_and_wrote(
    writer_tables: WriterTables, connection: apsw.Connection
) -> None:
    was = open_session(writer_tables)
    drive(writer_tables.update_session(was, was._replace(version=2)))
    change_behind_its_back(connection)
    assert locked(writer_tables).version == 2


def test_what_it_was_told_to_forget_it_reads_again(
    writer_tables: WriterTables, connection: apsw.Connection
) -> None:
    open_session(writer_tables)
    locked(writer_tables)
    change_behind_its_back(connection)
    writer_tables.forget()
    assert locked(writer_tables).version == 99


def test_a_reader_remembers_nothing(tables: SqliteTables, connection: apsw.Connection) -> None:
    open_session(tables)
    locked(tables)
    change_behind_its_back(connection)
    assert locked(tables).version == 99


def test_a_session_that_is_not_there_is_not_remembered(writer_tables: WriterTables) -> None:
    assert drive(writer_tables.lock_session(MAIN)) is None
    open_session(writer_tables)
    assert locked(writer_tables).key == MAIN


def test_a_deleted_session_is_forgotten_with_its_numbers(writer_tables: WriterTables) -> None:
    entry = Entry(session_id=f"{MAIN}-1", seq=1, id="a", body=said("a", "hello").body)
    for _ in range(2):
        open_session(writer_tables)
        drive(writer_tables.insert_entries(MAIN, [entry]))
        assert drive(writer_tables.entries(f"{MAIN}-1", 0, None)) == (entry,)
        drive(writer_tables.delete_session(MAIN))
        assert drive(writer_tables.lock_session(MAIN)) is None


@pytest.mark.requirement("P21")
def test_it_remembers_the_newest_only(writer_tables: WriterTables, connection: apsw.Connection) -> None:
    keys = [SessionKey.named("main", f"s{number}") for number in range(HOT_SESSIONS + 1)]
    for key in keys:
        drive(writer_tables.insert_session(session(key)))
    change_behind_its_back(connection)
    assert locked(writer_tables, keys[0]).version == 99
    assert locked(writer_tables, keys[-1]).version == 1


def test_what_waits_is_written_before_anything_is_read(
    writer_tables: WriterTables, connection: apsw.Connection
) -> None:
    was = open_session(writer_tables)
    entry = Entry(session_id=f"{MAIN}-1", seq=1, id="a", body=said("a", "hello").body)
    drive(writer_tables.insert_entries(MAIN, [entry]))
    drive(writer_tables.update_session(was, grown(was, 2)))
    assert connection.execute("SELECT count(*) FROM entries").fetchone() == (0,)
    found = drive(writer_tables.session(MAIN))
    assert found is not None
    assert found.version == 2
    assert connection.execute("SELECT count(*) FROM entries").fetchone() == (1,)


def test_changes_of_a_session_are_written_in_their_order(
    writer_tables: WriterTables, connection: apsw.Connection
) -> None:
    was = open_session(writer_tables)
    for now in (first := grown(was, 2), first._replace(version=3), grown(first, 4)):
        drive(writer_tables.update_session(was, now))
        was = now
    writer_tables.settle()
    assert connection.execute("SELECT version FROM sessions").fetchone() == (4,)


def test_writing_what_waited_is_no_second_change(writer_tables: WriterTables) -> None:
    open_session(writer_tables)
    entry = Entry(session_id=f"{MAIN}-1", seq=1, id="a", body=said("a", "hello").body)
    before = writer_tables.changes()
    drive(writer_tables.insert_entries(MAIN, [entry]))
    after = writer_tables.changes()
    assert after > before
    writer_tables.settle()
    assert writer_tables.changes() == after


def test_what_waits_is_dropped_with_what_is_remembered(
    writer_tables: WriterTables, connection: apsw.Connection
) -> None:
    open_session(writer_tables)
    entry = Entry(session_id=f"{MAIN}-1", seq=1, id="a", body=said("a", "hello").body)
    drive(writer_tables.insert_entries(MAIN, [entry]))
    writer_tables.forget()
    writer_tables.settle()
    assert connection.execute("SELECT count(*) FROM entries").fetchone() == (0,)
    drive(writer_tables.insert_entries(MAIN, [entry]))
    assert drive(writer_tables.entries(f"{MAIN}-1", 0, None)) == (entry,)


def test_a_run_is_remembered_until_it_ends(writer_tables: WriterTables, connection: apsw.Connection) -> None:
    open_session(writer_tables)
    begun = replace(run("r1"), state=RunState.RUNNING)
    drive(writer_tables.insert_run(run("r1")))
    drive(writer_tables.update_run(begun))
    connection.execute("DELETE FROM runs")
    assert drive(writer_tables.run("r1")) == begun
    drive(writer_tables.update_run(replace(begun, state=RunState.DONE)))
    assert drive(writer_tables.run("r1")) is None


@pytest.mark.requirement("P21")
def test_so_many_runs_are_remembered_and_no_more(
    writer_tables: WriterTables, connection: apsw.Connection
) -> None:
    open_session(writer_tables)
    for number in range(HOT_RUNS + 1):
        drive(writer_tables.insert_run(run(f"r{number}")))
    connection.execute("DELETE FROM runs")
    assert drive(writer_tables.run("r0")) is None
    assert drive(writer_tables.run(f"r{HOT_RUNS}")) is not None


def test_what_is_said_again_of_where_a_session_came_from_changes_only_its_numbers(
    writer_tables: WriterTables, connection: apsw.Connection
) -> None:
    was = open_session(writer_tables)
    connection.execute("UPDATE sessions SET haystack = 'as it was'")
    same = was._replace(origin=replace(was.origin), labels=replace(was.labels), version=2)
    drive(writer_tables.update_session(was, same))
    writer_tables.settle()
    assert connection.execute("SELECT version, haystack FROM sessions").fetchone() == (2, "as it was")
