from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from roost.core.errors import InvalidInput
from roost.stores.sqlite.backup import PAGES_PER_STEP, copy_database
from roost.stores.sqlite.connection import open_reader, open_writer


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[apsw.Connection]:
    writer = open_writer(tmp_path / "roost.db")
    writer.execute("CREATE TABLE notes (text)")
    # More pages than one step copies.
    writer.execute("INSERT INTO notes VALUES (zeroblob(?))", (PAGES_PER_STEP * 4096 * 3,))
    yield writer
    writer.close()


@pytest.fixture
def reader(tmp_path: Path, writer: apsw.Connection) -> Iterator[apsw.Connection]:
    reader = open_reader(tmp_path / "roost.db")
    reader.execute("BEGIN")
    yield reader
    reader.close()


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_the_copy_is_whole_private_and_one_file(
    tmp_path: Path, writer: apsw.Connection, reader: apsw.Connection
) -> None:
    before = names(tmp_path)
    copy_database(reader, tmp_path / "copy.db")
    assert names(tmp_path) - before == {"copy.db"}
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    copy = apsw.Connection(str(tmp_path / "copy.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert copy.pragma("integrity_check") == "ok"
    assert copy.execute("SELECT length(text) FROM notes").get == PAGES_PER_STEP * 4096 * 3
    copy.close()


def test_the_copy_is_what_one_moment_held(
    tmp_path: Path, writer: apsw.Connection, reader: apsw.Connection
) -> None:
    assert reader.execute("SELECT count(*) FROM notes").get == 1
    writer.execute("INSERT INTO notes VALUES ('later')")
    copy_database(reader, tmp_path / "copy.db")
    copy = apsw.Connection(str(tmp_path / "copy.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert copy.execute("SELECT count(*) FROM notes").get == 1
    copy.close()


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path, reader: apsw.Connection) -> None:
    (tmp_path / "copy.db").write_text("precious")
    with pytest.raises(InvalidInput, match="exists already"):
        copy_database(reader, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "precious"


def test_a_file_that_is_made_meanwhile_is_not_overwritten(tmp_path: Path, reader: apsw.Connection) -> None:
    def overtake(statement: apsw.Cursor, sql: str, bindings: object) -> bool:
        (tmp_path / "copy.db").write_text("precious")
        return True

    before = names(tmp_path)
    reader.exec_trace = overtake
    with pytest.raises(InvalidInput, match="File exists"):
        copy_database(reader, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "precious"
    assert names(tmp_path) - before == {"copy.db"}


@pytest.mark.parametrize("name", ["copy.db.partial", ".copy.db.partial"])
def test_a_file_that_looks_like_half_a_copy_is_left_alone(
    tmp_path: Path, reader: apsw.Connection, name: str
) -> None:
    (tmp_path / name).write_text("precious")
    copy_database(reader, tmp_path / "copy.db")
    assert (tmp_path / name).read_text() == "precious"


def test_two_copies_to_one_place_do_not_meet(tmp_path: Path, reader: apsw.Connection) -> None:
    def second(statement: apsw.Cursor, sql: str, bindings: object) -> bool:
        reader.exec_trace = None
        with pytest.raises(InvalidInput, match="cannot be written"):
            copy_database(reader, tmp_path / "copy.db")
        return True

    before = names(tmp_path)
    reader.exec_trace = second
    copy_database(reader, tmp_path / "copy.db")
    assert names(tmp_path) - before == {"copy.db"}


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, reader: apsw.Connection) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        copy_database(reader, tmp_path / "no such folder" / "copy.db")


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path: Path, reader: apsw.Connection) -> None:
    before = names(tmp_path)
    closed = apsw.Connection(":memory:")
    closed.close()
    with pytest.raises(apsw.ConnectionClosedError):
        copy_database(closed, tmp_path / "copy.db")
    assert names(tmp_path) == before
