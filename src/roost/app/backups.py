"""Backups of the embedded store: made while work goes on, and remembered so that they can be found again."""

from datetime import UTC, datetime
from pathlib import Path

from anyio import to_thread

from roost.app.opening import is_address, named_store
from roost.app.places import backup_folder
from roost.clock import SystemClock
from roost.config import Loaded
from roost.core.errors import InvalidInput
from roost.stores.sqlite import SqliteStore

# One path a line, of those that were put elsewhere.
ELSEWHERE = "elsewhere"


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
        return folder / f"{datetime.fromtimestamp(now / 1_000, UTC):%Y%m%dT%H%M%S.%f}.db"
    path = to.absolute()
    with (folder / ELSEWHERE).open("a", encoding="utf-8") as out:
        out.write(f"{path}\n")
    return path
