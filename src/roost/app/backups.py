"""Backups of the embedded store: made while work goes on, remembered so that they can be found again, and restored."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from anyio import to_thread

from roost.app.opening import is_address, named_store
from roost.app.places import backup_folder
from roost.clock import SystemClock
from roost.config import Loaded
from roost.core.errors import InvalidInput
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.restoring import restore

# One path a line, of those that were put elsewhere.
ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The store, and where the one it replaces is kept, if there was one."""

    path: Path
    kept: Path | None


def database_of(loaded: Loaded) -> Path:
    """The file of the store, which must be one."""
    name = named_store(loaded)
    if is_address(name):
        raise InvalidInput(
            "the store is on a PostgreSQL server, and this works on files",
            hint="roost db copy --to FILE copies it to one, and back; what the server keeps is for its own tools",
        )
    return Path(name)


async def back_up(loaded: Loaded, to: Path | None) -> Path:
    """Copy the store to a new file, by default in the folder of backups."""
    source, clock = database_of(loaded), SystemClock()
    path = await to_thread.run_sync(_remembered, backup_folder(loaded.sources.home), to, clock.now())
    store = SqliteStore.open(source, clock)
    try:
        await store.backup(path)
    finally:
        await store.close()
    return path


async def restore_store(loaded: Loaded, backup: Path) -> Restored:
    """Put a copy of a backup in the place of the store. The one it replaces is remembered like a backup."""
    if is_address(named_store(loaded)):
        raise InvalidInput(
            "the store is on a PostgreSQL server, and is restored with PostgreSQL's own tools",
            hint="use pg_restore; or `roost db copy --from FILE --to ADDRESS`, into an empty schema",
        )
    path, now = database_of(loaded), SystemClock().now()

    def keep() -> Path:
        replaced = path.with_name(f"{path.stem}-replaced-{_stamp(now)}.db")
        return _remembered(backup_folder(loaded.sources.home), replaced, now)

    return Restored(path=path, kept=await to_thread.run_sync(restore, backup, path, keep))


def known_backups(loaded: Loaded) -> tuple[Path, ...]:
    """All that were made, be they still there or not."""
    folder = backup_folder(loaded.sources.home)
    inside = sorted(folder.glob("*.db"))
    listed = folder / ELSEWHERE
    text = listed.read_text(encoding="utf-8") if listed.exists() else ""
    return tuple(dict.fromkeys((*inside, *(Path(line) for line in text.splitlines()))))


def _remembered(folder: Path, to: Path | None, now: int) -> Path:
    """Where a backup shall lie; noted before it is there: one that nobody knows of would never be found again."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if to is None:
        return folder / f"{_stamp(now)}.db"
    path = to.absolute()
    with (folder / ELSEWHERE).open("a", encoding="utf-8") as out:
        out.write(f"{path}\n")
    return path


def _stamp(now: int) -> str:
    return f"{datetime.fromtimestamp(now / 1_000, UTC):%Y%m%dT%H%M%S.%f}"
