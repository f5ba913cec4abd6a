"""Transcripts as files beside the store: written after the commit, never read back, and removed with their session.

Secrets are masked as in an export. What was not written when a gateway ended is written when the next one begins. Of
those that share a home one mirrors at a time.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from anyio import to_thread

from roost.core.errors import InvalidInput
from roost.core.jsonl import Malformed, read_object
from roost.core.jsonvalue import JsonObject, as_object, as_text
from roost.core.keys import SessionKey
from roost.core.queries import Cursor, SessionQuery
from roost.core.sessions import Generation, Labels, Session
from roost.locks import FileLock
from roost.ports import Clock, SecretScanner, Store
from roost.transfer.cleaning import Clean, masked, masked_fields, masking
from roost.transfer.export import added_lines, export_transcript, file_name, files_of
from roost.transfer.exportfolder import opened_privately, part_of
from roost.transfer.layout import Layout

INDEX = "sessions.json"
JOURNAL = "sessions.json.new"
STAMP = "mirrored"
LOCK = "mirrored.lock"
PAUSE_MS = 1_000
LEAVE_S = 5
PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The folder of a session's transcripts, and all that there may be."""

    of: Callable[[SessionKey], Path | None]
    all: tuple[Path, ...]


class Mirror:
    def __init__(
        self, store: Store, clock: Clock, places: Places, scanner: SecretScanner, home: Path
    ) -> None:
        self._store = store
        self._clock = clock
        self._places = places
        self._clean = masking(scanner)
        self._stamp = home / STAMP
        self._alone = FileLock(home / LOCK)
        self._changed: dict[SessionKey, int] = {}
        self._news = anyio.Event()
        self._written: dict[Path, int] = {}
        self._indexes: dict[Path, dict[str, JsonObject]] = {}
        self._unsaved: set[Path] = set()

    async def follow(self) -> None:
        """Once nobody else does, write what changes until cancelled, and then what is left."""
        with self._store.watch(None, self.note):
            while not self._alone.take():
                await self._clock.sleep(PAUSE_MS)
            try:
                await self._follow_alone()
            finally:
                self._alone.release()

    async def _follow_alone(self) -> None:
        # Another may have written since.
        for known in (self._written, self._indexes, self._unsaved):
            known.clear()
        try:
            await self.remember()
            while True:
                await self.catch_up()
                await self._news.wait()
                await self._clock.sleep(PAUSE_MS)
        finally:
            with anyio.move_on_after(LEAVE_S, shield=True):
                await self.catch_up()

    async def catch_up(self) -> None:
        """Write what has changed so far."""
        began = self._clock.now()
        self._news = anyio.Event()
        if not self._changed and not self._unsaved:
            return
        for key, times in tuple(self._changed.items()):
            await self._take(key)
            # What came meanwhile is looked at once more.
            if self._changed.get(key) == times:
                del self._changed[key]
        for folder in tuple(self._unsaved):
            await to_thread.run_sync(_save, folder, self._indexes[folder])
            self._unsaved.discard(folder)
        await to_thread.run_sync(_replace, self._stamp, str(began).encode())

    def note(self, key: SessionKey) -> None:
        """A session has news."""
        self._changed[key] = self._changed.get(key, 0) + 1
        self._news.set()

    async def remember(self) -> None:
        """Whatever changed since the last time everything was written, and what is written of sessions that are gone."""
        for folder in self._places.all:
            for name, row in tuple((await self._index(folder)).items()):
                key = _key(name, row)
                if key is not None and await self._store.session(key) is None:
                    self.note(key)
        since = await to_thread.run_sync(_stamped, self._stamp)
        query = SessionQuery(archived=None, active_since=since, limit=PAGE)
        more = True
        while more:
            page = await self._store.list_sessions(query)
            for session in page.rows:
                self.note(session.key)
            more = page.more
            if more:
                last = page.rows[-1]
                query = replace(query, after=Cursor(updated=last.times.updated, key=str(last.key)))

    async def _take(self, key: SessionKey) -> None:
        folder = self._places.of(key)
        if folder is None:
            return
        index = await self._index(folder)
        before = _files(index.get(str(key)))
        session = await self._store.session(key)
        generations = await self._store.generations(key) if session else ()
        written = files_of(generations)
        names = [file_name(generation) for generation in written]
        # First: a file whose name is not kept would stay when its session goes.
        await to_thread.run_sync(_announce, folder, key, tuple(name for name in names if name not in before))
        for name, generation in zip(names, written, strict=True):
            await self._write(folder / name, generation, generations)
        await to_thread.run_sync(_remove, folder, tuple(name for name in before if name not in names))
        row = None if session is None else _row(session, names, self._clean)
        if row == index.get(str(key)):
            return
        if row is None:
            del index[str(key)]
        else:
            index[str(key)] = row
        self._unsaved.add(folder)

    async def _index(self, folder: Path) -> dict[str, JsonObject]:
        if folder not in self._indexes:
            self._indexes[folder] = await to_thread.run_sync(_opened, folder)
        return self._indexes[folder]

    async def _write(self, file: Path, generation: Generation, generations: tuple[Generation, ...]) -> None:
        if Layout.parse(generation.header) is not None:
            # Its lines may stand in another order than they came in.
            lines = [line async for line in export_transcript(self._store, generation, generations)]
            await to_thread.run_sync(_replace, file, b"".join(map(self._masked, lines)))
            return
        # Taken out: after a write that failed, the file itself must be asked.
        known = self._written.pop(file, None)
        written = await to_thread.run_sync(_lines_in, file) if known is None else known
        added = [self._masked(line) async for line in added_lines(self._store, generation, written)]
        await to_thread.run_sync(_append, file, b"".join(added))
        self._written[file] = written + len(added)

    def _masked(self, line: bytes) -> bytes:
        return masked(line, self._clean)


def forget_mirrored(home: Path, folder: Path) -> None:
    """Remove every transcript that was written to a folder; whoever mirrors next writes those that there are. Nobody may
    mirror now."""
    (home / STAMP).unlink(missing_ok=True)
    if not (folder / INDEX).exists() and not (folder / JOURNAL).exists():
        return
    others = {}
    for name, row in _opened(folder).items():
        _remove(folder, _files(row))
        if _key(name, row) is None:
            others[name] = row
    _save(folder, others)


def _row(session: Session, names: list[str], clean: Clean) -> JsonObject:
    counters, times = session.counters, session.times
    fields: JsonObject = {
        "sessionId": session.session_id,
        "sessionFile": names[-1] if names else None,
        "files": list(names),
        "createdAt": times.created,
        "updatedAt": times.updated,
        "sessionStartedAt": times.started,
        **masked_fields(_called(session.labels), clean),
        "inputTokens": counters.input,
        "outputTokens": counters.output,
        "totalTokens": counters.total,
        "compactionCount": counters.compactions,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _called(labels: Labels) -> JsonObject:
    return {
        "label": labels.label,
        "displayName": labels.display_name,
        "subject": labels.subject,
        "room": labels.room,
        "space": labels.space,
    }


def _files(row: JsonObject | None) -> tuple[str, ...]:
    """Of a row that this wrote: names, whatever else stands there."""
    found = (row or {}).get("files")
    names = (as_text(one) for one in found) if isinstance(found, list) else ()
    return tuple(name for name in names if name and "/" not in name and not name.startswith("."))


def _key(name: str, row: JsonObject) -> SessionKey | None:
    """Of a row that this wrote: in the same file there may be others."""
    if "files" not in row:
        return None
    try:
        return SessionKey.parse(name)
    except InvalidInput:
        return None


def _opened(folder: Path) -> dict[str, JsonObject]:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        found = read_object((folder / INDEX).read_text(encoding="utf-8"))
    except (FileNotFoundError, UnicodeDecodeError):
        found = {}
    index = {} if isinstance(found, Malformed) else {name: as_object(row) for name, row in found.items()}
    for key, file in _announced(folder):
        row = index.get(key, {})
        index[key] = {**row, "files": list(dict.fromkeys((*_files(row), file)))}
    return index


def _announce(folder: Path, key: SessionKey, names: tuple[str, ...]) -> None:
    """Keep the names of files that are about to be written, until the index has them."""
    if names:
        lines = (json.dumps({"key": str(key), "file": name}) for name in names)
        _append(folder / JOURNAL, "".join(f"{line}\n" for line in lines).encode())


def _announced(folder: Path) -> list[tuple[str, str]]:
    try:
        lines = (folder / JOURNAL).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    # Half a line at the end is one of which no file was begun.
    rows = [row for row in map(read_object, lines) if not isinstance(row, Malformed)]
    found = [(as_text(row.get("key")), as_text(row.get("file"))) for row in rows]
    return [(key, file) for key, file in found if key and file]


def _stamped(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None


def _lines_in(file: Path) -> int:
    """How many lines are written whole; half a line at the end, which a crash may leave, is cut off."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return 0
    whole = content.rfind(b"\n") + 1
    if whole != len(content):
        with file.open("r+b") as out:
            out.truncate(whole)
    return content.count(b"\n")


def _append(file: Path, content: bytes) -> None:
    with opened_privately(file, append=True) as out:
        out.write(content)


def _replace(file: Path, content: bytes) -> None:
    beside = part_of(file)
    with opened_privately(beside) as out:
        out.write(content)
    beside.replace(file)


def _save(folder: Path, index: Mapping[str, JsonObject]) -> None:
    _replace(folder / INDEX, json.dumps(index, ensure_ascii=False, indent=1).encode())
    (folder / JOURNAL).unlink(missing_ok=True)


def _remove(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        for file in (folder / name, part_of(folder / name)):
            file.unlink(missing_ok=True)
