"""A consistent copy of a live database."""

from pathlib import Path

import apsw

from roost.core.errors import InvalidInput

PAGES_PER_STEP = 512


def copy_database(source: apsw.Connection, path: Path) -> None:
    """Copy what the source's read transaction sees; without that pin, writers would restart the copy for ever."""
    if path.exists():
        raise InvalidInput(f"{path} exists already", hint="name a new file for the backup")
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    target = apsw.Connection(str(partial))
    try:
        source.execute("SELECT 1 FROM sqlite_schema").fetchone()
        with target.backup("main", source, "main") as copy:
            while not copy.done:
                copy.step(PAGES_PER_STEP)
        target.pragma("journal_mode", "DELETE")
    finally:
        target.close()
    partial.rename(path)
