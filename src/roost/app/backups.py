"""Backups of the embedded store: made while work goes on, remembered so that they can be found again, and restored."""

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from anyio import to_thread

from roost.app.opening import is_address, named_store
from roost.app.places import backup_folder
from roost.clock import SystemClock
from roost.config import Loaded
from roost.core.errors import InvalidInput, RoostError
from roost.core.jsonvalue import lines_of
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.restoring import restore
from roost.stores.sqlite.store import SqliteOptions

# One path a line, of those that were put elsewhere; as JSON if it holds what could end a line, or is no text. What came to
# nothing is taken back by a line more: it is only ever added to, as several commands may at once.
ELSEWHERE = "elsewhere"
TAKEN_BACK = "-"


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
    folder = backup_folder(loaded.sources.home)
    path = await to_thread.run_sync(_remembered, folder, to, clock.now())
    try:
        await _copy(source, path, clock)
    except RoostError:
        if to is not None:
            await to_thread.run_sync(_take_back, folder, path)
        raise
    return path


async def _copy(source: Path, to: Path, clock: SystemClock) -> None:
    store = SqliteStore.open(source, clock, options=SqliteOptions(damaged=True))
    try:
        await store.backup(to)
    finally:
        await store.close()


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
    listed = notes_of(loaded)
    noted: Counter[str] = Counter()
    for line in lines_of(listed.read_text(encoding="utf-8")) if listed.exists() else ():
        noted[_path_in(line.removeprefix(TAKEN_BACK))] += -1 if line.startswith(TAKEN_BACK) else 1
    return tuple(dict.fromkeys((*inside, *(Path(path) for path, times in noted.items() if times > 0))))


def notes_of(loaded: Loaded) -> Path:
    """The file that says where backups were put elsewhere."""
    return backup_folder(loaded.sources.home) / ELSEWHERE


def _remembered(folder: Path, to: Path | None, now: int) -> Path:
    """Where a backup shall lie; noted before it is there: one that nobody knows of would never be found again."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if to is None:
        return folder / f"{_stamp(now)}.db"
    path = to.absolute()
    _note(folder, _line(path))
    return path


def _take_back(folder: Path, path: Path) -> None:
    """The copy failed: if there is no file, none was made. One of an earlier time that is there no more stays noted."""
    if not path.exists():
        _note(folder, f"{TAKEN_BACK}{_line(path)}")


def _line(path: Path) -> str:
    text = str(path)
    return text if text.isprintable() else json.dumps(text)


def _path_in(line: str) -> str:
    """A path is absolute: a quote begins none."""
    return str(json.loads(line)) if line.startswith('"') else line


def _note(folder: Path, line: str) -> None:
    with (folder / ELSEWHERE).open("a", encoding="utf-8") as out:
        out.write(f"{line}\n")


def _stamp(now: int) -> str:
    return f"{datetime.fromtimestamp(now / 1_000, UTC):%Y%m%dT%H%M%S.%f}"
