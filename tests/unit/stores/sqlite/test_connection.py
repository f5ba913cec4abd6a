from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import apsw
import pytest

from roost.core.errors import InvalidInput, RoostError, StoreCorrupt, StoreUnavailable
from roost.stores.sqlite.connection import (
    APPLICATION_ID,
    open_reader,
    open_writer,
    refuse_unsafe_engine,
    translated,
)
from roost.stores.sqlite.rows import SQL
from tests.scale import examples


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that was made and closed."""
    path = tmp_path / "roost.db"
    open_writer(path).close()
    return path


def test_a_new_file_is_durable_marked_and_can_shrink(path: Path) -> None:
    connection = open_writer(path)
    pragmas = ("journal_mode", "synchronous", "foreign_keys", "auto_vacuum", "application_id")
    assert [connection.pragma(name) for name in pragmas] == ["wal", 2, 1, 2, APPLICATION_ID]
    connection.close()


@pytest.mark.parametrize("opened", [open_writer, open_reader])
def test_a_statement_is_planned_once_for_all_values(
    path: Path, opened: Callable[[Path], apsw.Connection]
) -> None:
    connection, asked = opened(path), list[int]()

    def allow(action: int, *_: object) -> int:
        """Asked of what a statement will do, whenever one is planned."""
        asked.append(action)
        return apsw.SQLITE_OK

    connection.authorizer = allow
    connection.execute(SQL["generation"], ("one",)).fetchall()
    planned = len(asked)
    connection.execute(SQL["generation"], ("another",)).fetchall()
    assert planned
    assert len(asked) == planned
    connection.close()


@pytest.mark.parametrize("version", ["3.7.17", "3.40.1", "3.51.2"])
def test_an_engine_that_can_lose_what_was_committed_is_refused(version: str) -> None:
    with pytest.raises(StoreUnavailable, match=version):
        refuse_unsafe_engine(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "4.0.0"])
def test_an_engine_that_keeps_what_was_committed_is_taken(version: str) -> None:
    refuse_unsafe_engine(version)


def test_a_reader_cannot_write(path: Path) -> None:
    writer, reader = open_writer(path), open_reader(path)
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("DELETE FROM sessions")
    reader.close()
    writer.close()


def test_a_store_that_is_up_to_date_opens_while_another_writes(path: Path) -> None:
    writer = open_writer(path)
    with writer:
        open_writer(path).close()
    writer.close()


def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE photos (name)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="another program") as refused:
        open_writer(path)
    assert "`database`" in refused.value.hint
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"%PDF-1.7 not a database " * 400, b"SQLite format 3\x00" + bytes(4_000)]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "roost.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="damaged"):
        open_writer(path)
    assert path.read_bytes() == content


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        open_writer(tmp_path)


def test_a_refused_file_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    path.write_bytes(b"nonsense" * 1_000)
    with pytest.raises(StoreCorrupt):
        open_writer(path)
    path.unlink()
    open_writer(path).close()


@pytest.mark.parametrize("seed", range(examples(10, 200)))
def test_a_damaged_file_opens_or_is_told_as_damaged(path: Path, seed: int) -> None:
    chance = Random(seed)
    content = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 50)):
        start = chance.randrange(len(content))
        content[start : start + 40] = chance.randbytes(len(content[start : start + 40]))
    path.write_bytes(content)
    with suppress(StoreCorrupt, StoreUnavailable):
        open_writer(path).close()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), InvalidInput),
        (OverflowError("int too big"), InvalidInput),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), StoreCorrupt),
    ],
)
def test_text_that_is_no_text_is_the_callers_fault_going_in_and_the_files_coming_out(
    error: UnicodeError | OverflowError, kind: type[RoostError]
) -> None:
    assert isinstance(translated(error, Path("roost.db")), kind)


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        (apsw.SQLITE_CORRUPT, StoreCorrupt, "damaged"),
        (apsw.SQLITE_NOTADB, StoreCorrupt, "damaged"),
        (apsw.SQLITE_CONSTRAINT, StoreCorrupt, "does not fit"),
        (apsw.SQLITE_TOOBIG, InvalidInput, "cannot be stored"),
        (apsw.SQLITE_FULL, StoreUnavailable, "no space"),
        (apsw.SQLITE_CANTOPEN, StoreUnavailable, "cannot be opened"),
        (apsw.SQLITE_READONLY, StoreUnavailable, "cannot be opened"),
        (apsw.SQLITE_PERM, StoreUnavailable, "cannot be opened"),
        (apsw.SQLITE_IOERR, StoreUnavailable, "roost.db"),
        (apsw.SQLITE_BUSY, StoreUnavailable, "roost.db"),
    ],
)
def test_each_error_of_the_engine_becomes_one_a_caller_can_act_on(
    code: int, kind: type[RoostError], message: str
) -> None:
    error = apsw.exception_for(code)
    assert isinstance(error, apsw.Error)
    told = translated(error, Path("roost.db"))
    assert isinstance(told, kind)
    assert message in told.message
    assert told.hint
