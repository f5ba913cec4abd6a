"""A backup becomes the store. Killed anywhere in between, there is the old one or the new one, and never one file with the
log of the other."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from roost.core.errors import InvalidInput, LeaseHeld, StoreCorrupt, StoreUnavailable
from roost.stores.migrations import refuse_none
from roost.stores.sqlite.backup import copy_database
from roost.stores.sqlite.checking import first_fault
from roost.stores.sqlite.connection import make_private, open_existing, open_writer, translated

# What SQLite would play into whichever file lies beside it.
LOGS = ("-wal", "-journal")
INDEX = "-shm"
_MAIN_FILE = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
# What a damaged file is met with: there is nothing in its log that could be saved into it.
_UNREADABLE = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError)


def restore(backup: Path, path: Path, keep: Callable[[], Path]) -> Path | None:
    """Put a copy of a backup, brought up to date, in the place of the store, which nobody may use; where the store that
    was there is kept. `keep` says under which name, and is asked when nothing but the disk can go wrong any more."""
    if path.exists():
        if backup.exists() and backup.samefile(path):
            raise InvalidInput(f"{backup} is the store itself", hint="name a backup of it")
        # Before anything is copied: that may take long.
        with _alone(path):
            pass
    fresh = path.with_name(f".{path.name}.{os.getpid()}.restoring")
    try:
        _copy(backup, fresh)
        made = make_private(path)
        _fold_log(path)
        with _alone(path):
            return _swap(fresh, path, None if made else keep)
    except apsw.Error as error:
        raise translated(error, path) from error
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be replaced: {error.strerror}", hint="check rights and space of its folder"
        ) from error
    finally:
        for ending in ("", INDEX, *LOGS):
            _beside(fresh, ending).unlink(missing_ok=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """With SQLite's own lock on the file, whatever is in it: whoever has it open shares that lock. Who opens it meanwhile
    waits, and then finds that it has moved."""
    file = apsw.VFSFile("", str(path), [_MAIN_FILE, 0])
    try:
        file.xLock(apsw.SQLITE_LOCK_SHARED)
        file.xLock(apsw.SQLITE_LOCK_EXCLUSIVE)
        yield
    except apsw.BusyError as error:
        raise LeaseHeld(
            f"a gateway, or another command, works on {path}",
            hint="stop it, for example with `roost gateway drain`, and try again",
        ) from error
    finally:
        file.xUnlock(apsw.SQLITE_LOCK_NONE)
        file.xClose()


def _copy(backup: Path, fresh: Path) -> None:
    """What was checked is the copy: it is what will be the store."""
    try:
        source = open_existing(backup)
        try:
            refuse_none(str(backup), source.pragma("user_version"))
            source.execute("BEGIN")
            copy_database(source, fresh)
        finally:
            source.close()
        copy = open_writer(fresh, damaged=True)
        try:
            found = first_fault(copy)
        finally:
            copy.close()
    except apsw.Error as error:
        raise _unfit(translated(error, backup)) from error
    except StoreCorrupt as error:
        raise _unfit(error) from error
    if found is not None:
        raise _unfit(StoreCorrupt(f"{backup} is damaged: {found}"))
    _sync(fresh)


def _unfit(error: Exception) -> Exception:
    if not isinstance(error, StoreCorrupt):
        return error
    return StoreCorrupt(error.message, hint="name another backup; the store is as it was")


def _fold_log(path: Path) -> None:
    """What is committed is in the file itself, where it can be read at all: without its log it is still whole."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            connection.close()
    except (*_UNREADABLE, apsw.BusyError):
        # Who makes it busy is met again when the file is locked.
        return
    except apsw.Error as error:
        raise translated(error, path) from error


def _swap(fresh: Path, path: Path, keep: Callable[[], Path] | None) -> Path | None:
    kept = None if keep is None else keep()
    for ending in LOGS:
        log = _beside(path, ending)
        if log.exists():
            log.rename(_beside(kept or fresh, ending))
    _beside(path, INDEX).unlink(missing_ok=True)
    if kept is not None:
        # Not a rename: there is a store at every moment, or who starts would make an empty one.
        os.link(path, kept)
    _sync(path.parent)
    fresh.replace(path)
    _sync(path.parent)
    return kept


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
