"""The numbered steps in `migrations/`, and how `connection` takes them."""

import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import count
from pathlib import Path

import apsw
import pytest

from roost.core.errors import StoreUnavailable
from roost.stores.migrations import Migration, steps_in
from roost.stores.sqlite.connection import migrate, open_writer, refuse_foreign
from roost.stores.sqlite.structure import MIGRATIONS
from roost.testing.faultydisk import NO_SPACE, DiskCall, Fault, FaultyDisk
from tests import scale

SCHEMA = files("roost.stores.sqlite") / "schema.sql"
WRITES = frozenset({DiskCall.WRITE, DiskCall.SYNC, DiskCall.TRUNCATE})


def schema_of(connection: apsw.Connection) -> dict[tuple[str, str], str]:
    """Every table and index with its text, spaces and comments aside."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_schema")
    return {(kind, name): bare(text or "") for kind, name, text in rows}


def bare(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"--.*", "", text)).strip()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(tmp_path / "empty.db"))
    yield connection
    connection.close()


def test_the_steps_together_make_the_schema(empty: apsw.Connection) -> None:
    migrate(empty, steps_in(MIGRATIONS))
    whole = apsw.Connection(":memory:")
    whole.execute(SCHEMA.read_text(encoding="utf-8"))
    assert schema_of(empty) == schema_of(whole)


def test_the_steps_are_numbered_from_1_without_a_gap() -> None:
    numbers = [step.number for step in steps_in(MIGRATIONS)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_step_is_taken_once(empty: apsw.Connection) -> None:
    steps = (Migration(1, "CREATE TABLE a (x)"), Migration(2, "INSERT INTO a VALUES (1)"))
    migrate(empty, steps[:1])
    migrate(empty, steps)
    migrate(empty, steps)
    assert empty.execute("SELECT count(*) FROM a").get == 1
    assert empty.pragma("user_version") == 2


def test_a_step_is_taken_to_its_end(empty: apsw.Connection) -> None:
    migrate(empty, (Migration(1, "CREATE TABLE a (x); SELECT 1; INSERT INTO a VALUES (1)"),))
    assert empty.execute("SELECT x FROM a").get == 1


@pytest.mark.requirement("P5")
def test_a_step_that_fails_in_the_middle_leaves_the_state_before_it(empty: apsw.Connection) -> None:
    good = Migration(1, "CREATE TABLE a (x)")
    with pytest.raises(apsw.SQLError):
        migrate(empty, (good, Migration(2, "CREATE TABLE b (x); INSERT INTO a VALUES (1); nonsense")))
    assert not empty.in_transaction
    assert empty.pragma("user_version") == 1
    assert schema_of(empty) == {("table", "a"): "CREATE TABLE a (x)"}
    assert empty.execute("SELECT count(*) FROM a").get == 0
    migrate(empty, (good, Migration(2, "INSERT INTO a VALUES (2)")))
    assert empty.execute("SELECT x FROM a").get == 2


@pytest.mark.requirement("P5")
def test_a_disk_that_fails_at_any_call_leaves_the_old_schema_or_the_new(tmp_path: Path) -> None:
    whole = open_writer(tmp_path / "whole.db")
    finished = schema_of(whole)
    whole.close()
    disk = FaultyDisk("migrations")
    step = scale.count(5, 1)
    for at in (place for place in count(1) if scale.chosen(place, step)):
        path = tmp_path / f"{at}.db"
        disk.break_down(Fault(code=NO_SPACE, calls=WRITES, at=at, lasts=True))
        try:
            connection = open_writer(path, disk.name)
        except StoreUnavailable:
            disk.heal()
            assert_all_or_nothing(path, disk.name, finished)
        else:
            disk.heal()
            connection.close()
            break
    disk.unregister()
    assert at > 100


def assert_all_or_nothing(path: Path, vfs: str, finished: dict[tuple[str, str], str]) -> None:
    found = apsw.Connection(str(path), vfs=vfs)
    assert (found.pragma("user_version"), schema_of(found)) in [
        (0, {}),
        (len(steps_in(MIGRATIONS)), finished),
    ]
    found.close()
    again = open_writer(path, vfs)
    assert schema_of(again) == finished
    assert again.pragma("integrity_check") == "ok"
    again.close()


def test_two_that_open_an_empty_file_at_once_take_each_step_once(tmp_path: Path) -> None:
    """The one that waits for the other's lock finds the work done."""
    steps = (Migration(1, "CREATE TABLE a (x)"),)
    slow, fast = (apsw.Connection(str(tmp_path / "roost.db")) for _ in range(2))

    def overtake(statement: apsw.Cursor, sql: str, bindings: object) -> bool:
        if sql.startswith("BEGIN"):
            slow.exec_trace = None
            migrate(fast, steps)
        return True

    slow.exec_trace = overtake
    migrate(slow, steps)
    assert slow.pragma("user_version") == 1
    for connection in (slow, fast):
        connection.close()


def test_a_store_of_a_newer_roost_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    connection = open_writer(path)
    connection.pragma("user_version", 999)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="newer Roost") as refused:
        open_writer(path)
    assert refused.value.hint == "upgrade Roost"
    assert path.read_bytes() == before


def test_a_file_that_another_process_is_making_is_not_taken_for_a_foreign_one(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    for statement in ("SELECT count(*) FROM sqlite_schema", "PRAGMA application_id"):
        overtaken = apsw.Connection(str(path))

        def overtake(cursor: apsw.Cursor, sql: str, bindings: object, at: str = statement) -> bool:
            if sql.startswith(at):
                open_writer(path).close()
            return True

        overtaken.exec_trace = overtake
        refuse_foreign(overtaken, path)
        overtaken.close()
        path.unlink()
