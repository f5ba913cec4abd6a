"""Opening the file: engine, pragmas, migrations.

Nothing else in this process may open the database file: closing any handle to it would drop SQLite's locks.
"""

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias, TypeVar

import apsw

from roost.core.errors import InvalidInput, RoostError, StoreCorrupt, StoreUnavailable
from roost.stores.migrations import Migration, refuse_newer, steps_in
from roost.stores.sqlite.structure import MIGRATIONS, refuse_other_structure

# Older engines can lose committed pages when two connections write and checkpoint at once.
OLDEST_SAFE_ENGINE = (3, 51, 3)
APPLICATION_ID = 0x526F6F73
BUSY_TIMEOUT_MS = 5_000
# What a large sweep writes to the log does not stay on the disk.
LONGEST_LOG_BYTES = 16 << 20
# As many as apsw keeps; there are fewer named ones.
STATEMENTS = 512
# A damaged row shows when it is made into values: text that is no longer text, a word that is not one of ours.
EngineError: TypeAlias = apsw.Error | UnicodeError | OverflowError
ENGINE_ERRORS = (apsw.Error, UnicodeError, OverflowError)
Answer = TypeVar("Answer")


def open_writer(
    path: Path, vfs: str | None = None, synchronous: str = "FULL", *, damaged: bool = False
) -> apsw.Connection:
    """The one connection that writes; creates and migrates the file. `damaged`: tables and indexes may be missing."""
    connection = _open(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, vfs)
    try:
        steps = steps_in(MIGRATIONS)
        refuse_unfit(connection, path, damaged=damaged)
        if connection.pragma("user_version") == 0:
            connection.pragma("auto_vacuum", "INCREMENTAL")
        connection.pragma("journal_mode", "WAL")
        refuse_moved(connection, path)
        connection.pragma("journal_size_limit", LONGEST_LOG_BYTES)
        connection.pragma("synchronous", synchronous)
        connection.pragma("foreign_keys", True)
        migrate(connection, steps)
    except BaseException as error:
        # What made opening fail may make closing fail; the first error is the one to tell.
        with suppress(apsw.Error):
            connection.close()
        if isinstance(error, apsw.Error):
            raise translated(error, path) from error
        raise
    return connection


def open_existing(path: Path) -> apsw.Connection:
    """A connection that can write, to a store that is there; nothing of it is brought up to date or mended."""
    if not path.exists():
        raise StoreUnavailable(f"there is no store at {path}", hint="check the path")
    connection = _open(path, apsw.SQLITE_OPEN_READWRITE, None)
    try:
        refuse_unfit(connection, path, damaged=True)
    except apsw.Error as error:
        connection.close()
        raise translated(error, path) from error
    except RoostError:
        connection.close()
        raise
    return connection


def make_private(path: Path) -> bool:
    """Make the file, if it is not there, so that only this user may read it; whether it was made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            return False
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be created: {error.strerror}", hint="check path and rights"
        ) from error
    return True


def open_reader(path: Path, vfs: str | None = None) -> apsw.Connection:
    connection = _open(path, apsw.SQLITE_OPEN_READONLY, vfs)
    connection.pragma("query_only", True)
    return connection


def open_beside(path: Path, vfs: str | None = None) -> apsw.Connection:
    """A connection that moves the log into the file while another one writes."""
    connection = _open(path, apsw.SQLITE_OPEN_READWRITE, vfs)
    connection.pragma("synchronous", "FULL")
    return connection


def _open(path: Path, flags: int, vfs: str | None) -> apsw.Connection:
    refuse_unsafe_engine(apsw.sqlite_lib_version())
    try:
        connection = apsw.Connection(str(path), flags=flags, vfs=vfs, statementcachesize=STATEMENTS)
    except apsw.Error as error:
        raise translated(error, path) from error
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    # Otherwise a statement is planned again for other values: that costs ten times what most of them do.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


def refuse_unsafe_engine(version: str) -> None:
    if tuple(map(int, version.split("."))) < OLDEST_SAFE_ENGINE:
        raise StoreUnavailable(
            f"SQLite {version} can lose committed data", hint="install apsw 3.53 or newer with its own SQLite"
        )


def refuse_unfit(connection: apsw.Connection, path: Path, *, damaged: bool) -> None:
    """Raise for what this Roost cannot work on. A file that is being made meanwhile is empty, or done."""
    refuse_foreign(connection, path)

    def look() -> None:
        if found := connection.pragma("user_version"):
            refuse_newer(found, steps_in(MIGRATIONS))
            refuse_other_structure(connection, str(path), damaged=damaged)

    in_one_view(connection, look)


def refuse_foreign(connection: apsw.Connection, path: Path) -> None:
    # In this order: another process may be making the file, and writes tables and mark at once.
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    mark = connection.pragma("application_id")
    if mark != APPLICATION_ID and tables:
        raise StoreCorrupt(
            f"{path} is a SQLite file of another program",
            hint="name another file in `database` or move this one away",
        )


def refuse_moved(connection: apsw.Connection, path: Path) -> None:
    """Another file may have taken its place before this connection had its share of the lock; afterwards none does."""
    moved = ctypes.c_int(0)
    connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(moved))
    if moved.value:
        raise StoreUnavailable(f"{path} was replaced while it was opened", hint="try again")


def migrate(connection: apsw.Connection, steps: Sequence[Migration]) -> None:
    """Bring the schema up to date, each step in its own transaction."""
    # Who finds it up to date takes no lock, and so waits for nobody who writes.
    done = connection.pragma("user_version")
    for step in [step for step in steps if step.number > done]:
        with transaction(connection, "IMMEDIATE"):
            # Asked again under the lock: another process may have taken the step meanwhile.
            if connection.pragma("user_version") < step.number:
                # To the end: a statement that answers a row would stop it half way.
                connection.execute(step.script).fetchall()
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", step.number)


@contextmanager
def transaction(connection: apsw.Connection, mode: str) -> Iterator[None]:
    """All of a block or nothing. Unlike apsw's own, an error goes on as it is, also if SQLite ended the transaction itself."""
    connection.execute(f"BEGIN {mode}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def in_one_view(connection: apsw.Connection, read: Callable[[], Answer]) -> Answer:
    """What a read finds, all of it as of one moment."""
    connection.execute("BEGIN")
    try:
        return read()
    finally:
        roll_back(connection)


def roll_back(connection: apsw.Connection) -> None:
    """What made work fail may make this fail, or have done it already; the first error is the one to tell."""
    with suppress(apsw.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def translated(error: EngineError, path: Path) -> Exception:
    """The error a caller can act on."""
    if isinstance(error, UnicodeEncodeError | OverflowError | apsw.TooBigError):
        return InvalidInput(f"that cannot be stored: {error}", hint="send valid Unicode, of a smaller size")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeError):
        return StoreCorrupt(f"{path} is damaged: {error}", hint="restore a backup: `roost db restore FILE`")
    if isinstance(error, apsw.SQLError | apsw.ConstraintError | apsw.MismatchError | apsw.RangeError):
        return StoreCorrupt(
            f"{path} does not fit this Roost: {error}", hint="report it; trying again is no use"
        )
    if isinstance(error, apsw.FullError):
        return StoreUnavailable(f"no space left for {path}", hint="free space; nothing was lost")
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError):
        return StoreUnavailable(f"{path} cannot be opened for writing: {error}", hint="check path and rights")
    return StoreUnavailable(f"{path}: {error}", hint="try again; nothing of this request was written")
