"""A SQLite file written anew without a person, so that no page of it ever held what was theirs."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw

from roost.core.erasing import Person
from roost.stores.migrations import refuse_older, steps_in
from roost.stores.sql import bulk
from roost.stores.sql.bulk import STEP
from roost.stores.sql.erasing import Without
from roost.stores.sqlite.bulk import SqliteBulk, target
from roost.stores.sqlite.connection import ENGINE_ERRORS, open_existing, transaction, translated
from roost.stores.sqlite.structure import MIGRATIONS

LEFTOVERS = ("", "-wal", "-shm", "-journal")


async def erase_in(
    path: Path, person: Person, now: Callable[[], int], before: Callable[[Without], Awaitable[None]]
) -> tuple[Without, int]:
    """Write the file anew without a person; what was found, and how many rows were left out. Nobody else may use it.
    `before` is told what was found while the file still holds it."""
    clean = path.with_name(f".{path.name}.erasing")
    _remove(clean)
    connection = open_existing(path)
    try:
        await bulk.refuse_served(SqliteBulk(connection, path, now))
        logged = connection.pragma("journal_mode") == "wal"
        if logged:
            # From the first read to the last write the file is this connection's. A backup is nobody else's anyway, and
            # would keep the journal of what it was.
            connection.pragma("locking_mode", "EXCLUSIVE")
        with transaction(connection, "IMMEDIATE"):
            source = SqliteBulk(connection, path, now)
            refuse_older(source.where, await source.version(), steps_in(MIGRATIONS))
            without = Without(source, person)
            await without.look()
            rows = sum((await bulk.counts(source)).values())
            async with target(clean, now) as written:
                kept = await bulk.copy(without, written, lambda rows: None)
                await written.summarise()
        await before(without)
        _overwrite(connection, clean, logged=logged)
        if logged:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except ENGINE_ERRORS as error:
        raise translated(error, path) from error
    finally:
        connection.close()
        _remove(clean)
    return without, rows - sum(kept.values())


def _overwrite(connection: apsw.Connection, clean: Path, *, logged: bool) -> None:
    """Every page of the file becomes one of the clean one, or goes."""
    source = open_existing(clean)
    try:
        if not logged:
            # The first page says so, and is copied too.
            source.pragma("journal_mode", "DELETE")
        with connection.backup("main", source, "main") as copy:
            while not copy.done:
                copy.step(STEP)
    finally:
        source.close()


def _remove(path: Path) -> None:
    for ending in LEFTOVERS:
        path.with_name(path.name + ending).unlink(missing_ok=True)
