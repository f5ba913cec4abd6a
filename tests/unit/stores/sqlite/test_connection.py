from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
    refuse_moved,
    refuse_unsafe_engine,
    transaction,
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


def test_a_file_that_another_took_the_place_of_while_it_was_opened_is_told(path: Path) -> None:
    writer = open_writer(path)
    refuse_moved(writer, path)
    path.rename(path.with_name("kept.db"))
    with pytest.raises(StoreUnavailable, match="was replaced while it was opened"):
        refuse_moved(writer, path)
    writer.close()


def test_who_waits_for_a_file_that_is_being_replaced_does_not_write_to_the_old_one(path: Path) -> None:
    lock = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    lock.xLock(apsw.SQLITE_LOCK_SHARED)
    lock.xLock(apsw.SQLITE_LOCK_EXCLUSIVE)
    with ThreadPoolExecutor(1) as threads:
        opening = threads.submit(open_writer, path)
        while sum(file.resolve() == path for file in Path("/proc/self/fd").iterdir()) < 2:
            pass
        path.rename(path.with_name("kept.db"))
        open_writer(path).close()
        lock.xUnlock(apsw.SQLITE_LOCK_NONE)
        lock.xClose()
        with pytest.raises(StoreUnavailable, match="was replaced while it was opened"):
            opening.result()


@pytest.mark.parametrize("first", ["ROLLBACK", "CREATE TABLE notes (text)"])
def test_what_went_wrong_in_a_transaction_is_told_although_the_database_ended_it(
    path: Path, first: str
) -> None:
    writer = open_writer(path)

    def meet_damage() -> None:
        with transaction(writer, "IMMEDIATE"):
            writer.execute(first)
            raise apsw.CorruptError("malformed")

    with pytest.raises(apsw.CorruptError, match="malformed"):
        meet_damage()
    with transaction(writer, "IMMEDIATE"):
        writer.execute("CREATE TABLE notes (text)")
    assert not writer.in_transaction
    writer.close()


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
