"""A consistent copy of a live database."""

import os
from pathlib import Path

import apsw

from roost.core.errors import InvalidInput

PAGES_PER_STEP = 512


def copy_database(source: apsw.Connection, path: Path) -> None:
    """Copy what the source's read transaction sees; without that pin, writers would restart the copy for ever."""
    if path.exists():
        raise InvalidInput(f"{path} exists already", hint="name a new file for the backup")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        # Made before SQLite opens it, so that it is never readable by anybody else.
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        _fill(source, partial)
        os.link(partial, path)  # unlike a rename, never over a file that was made meanwhile
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        partial.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput(
        f"{path} cannot be written: {error.strerror}", hint="name a new file in a folder you may write to"
    )


def _fill(source: apsw.Connection, path: Path) -> None:
    target = apsw.Connection(str(path))
    try:
        source.execute("SELECT 1 FROM sqlite_schema").fetchone()
        with target.backup("main", source, "main") as copy:
            while not copy.done:
                copy.step(PAGES_PER_STEP)
        target.pragma("journal_mode", "DELETE")
    finally:
        target.close()
