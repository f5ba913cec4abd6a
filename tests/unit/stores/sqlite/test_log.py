from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from roost.core.errors import StoreUnavailable
from roost.stores.sqlite.connection import open_beside, open_writer
from roost.stores.sqlite.log import LONG, MUCH, Log
from roost.testing.faultydisk import DiskCall, Fault, FaultyDisk

PAGE = 4_096


class Book:
    """A connection that writes, and the log that it writes to."""

    def __init__(self, path: Path, vfs: str | None = None) -> None:
        self.path = path
        self.connection = open_writer(path, vfs)
        self.connection.execute("CREATE TABLE notes (text)")
        self.connection.wal_checkpoint()

    def write(self, pages: int) -> None:
        self.connection.execute("INSERT INTO notes VALUES (zeroblob(?))", (pages * PAGE,))

    def moved(self) -> int:
        """How many pages the file itself has."""
        return self.path.stat().st_size // PAGE

    def log_length(self) -> int:
        return Path(f"{self.path}-wal").stat().st_size // PAGE


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk("log")
    yield disk
    disk.unregister()


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    book = Book(tmp_path / "roost.db")
    yield book
    book.connection.close()


def another(book: Book) -> Callable[[], apsw.Connection]:
    return lambda: open_beside(book.path)


def unavailable() -> apsw.Connection:
    raise StoreUnavailable("no handle is left")


def test_much_is_moved_into_the_file_without_the_writer(book: Book) -> None:
    log = Log(book.connection, another(book))
    book.write(MUCH)
    # The writer's own connection moves nothing while it is within a transaction.
    book.connection.execute("BEGIN IMMEDIATE")
    log.look_after()
    log.close()
    book.connection.execute("ROLLBACK")
    assert book.moved() >= MUCH


def test_a_little_stays_where_it_is(book: Book) -> None:
    log = Log(book.connection, another(book))
    before = book.moved()
    book.write(MUCH // 2)
    log.look_after()
    log.close()
    assert book.moved() == before


def test_what_was_moved_is_not_moved_again(book: Book) -> None:
    opened: list[apsw.Connection] = []

    def open_one() -> apsw.Connection:
        opened.append(open_beside(book.path))
        return opened[-1]

    log = Log(book.connection, open_one)
    book.write(MUCH)
    # A log is begun anew only where nobody reads it.
    with open_beside(book.path) as reader:
        reader.execute("SELECT count(*) FROM notes").fetchall()
        log.shorten()
        book.write(MUCH // 2)
        log.look_after()
        log.close()
    reader.close()
    assert not opened


def test_a_log_that_was_begun_anew_is_moved_anew(book: Book) -> None:
    log = Log(book.connection, another(book))
    book.write(MUCH)
    log.shorten()
    for pages in (1, MUCH - 1):
        book.write(pages)
        log.look_after()
    log.close()
    assert book.moved() >= 2 * MUCH


def test_a_log_that_became_long_is_begun_anew(book: Book) -> None:
    log = Log(book.connection, unavailable)
    for _ in range(3):
        book.write(LONG)
        log.look_after()
    log.close()
    assert book.log_length() < 2 * LONG


def test_where_no_second_connection_is_to_be_had_the_writer_moves_it(book: Book) -> None:
    log = Log(book.connection, unavailable)
    book.write(MUCH)
    log.look_after()
    assert book.moved() < MUCH
    book.write(LONG)
    log.look_after()
    log.close()
    assert book.moved() >= LONG


def test_a_second_connection_that_was_not_to_be_had_is_asked_for_again(book: Book) -> None:
    tries: list[None] = []

    def fails_once() -> apsw.Connection:
        tries.append(None)
        return unavailable() if len(tries) == 1 else open_beside(book.path)

    log = Log(book.connection, fails_once)
    book.write(MUCH)
    while book.moved() < MUCH:
        log.look_after()
    log.close()
    assert len(tries) == 2


def test_what_cannot_be_moved_is_told_once_and_moved_later(
    tmp_path: Path, disk: FaultyDisk, caplog: pytest.LogCaptureFixture
) -> None:
    book = Book(tmp_path / "roost.db", disk.name)
    log = Log(book.connection, lambda: open_beside(book.path, disk.name))
    book.write(MUCH)
    full = Fault(code=apsw.SQLITE_FULL, calls=frozenset({DiskCall.WRITE}), suffix=".db", lasts=True)
    disk.break_down(full)
    while not caplog.records:
        log.look_after()
    log.shorten()
    disk.heal()
    # Not long yet: nobody but the thread moves it.
    while book.moved() < MUCH:
        log.look_after()
    log.close()
    book.connection.close()
    (told,) = caplog.messages
    assert "cannot be moved into the file" in told
