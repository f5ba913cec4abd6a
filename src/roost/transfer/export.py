"""A session as transcript files, byte for byte where it was imported. Whether it may be had is decided before."""

import base64
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import TypeAlias

from roost.core.entries import Entry
from roost.core.errors import InvalidInput, NotFound
from roost.core.jsonl import Header, header_to_json, line_of
from roost.core.jsonvalue import compact
from roost.core.keys import SessionKey
from roost.core.messages import Notice
from roost.core.sessions import Generation
from roost.ports import Store
from roost.transfer.jsonl_files import UNNAMED, UNPARSED
from roost.transfer.layout import Layout
from roost.transfer.paths import transcript_name

PAGE = 500

Sink: TypeAlias = Callable[[str, bytes], Awaitable[None]]
"""Takes the name of a file and one line of it, line break included."""


async def export_session(store: Store, key: SessionKey, sink: Sink) -> tuple[str, ...]:
    """Give every transcript of a key to `sink`, oldest first; the names of the files."""
    generations = await store.generations(key)
    if not generations:
        raise NotFound(f"no session {key}", hint="take the key from the list of sessions")
    names = []
    for generation in files_of(generations):
        name = file_name(generation)
        names.append(name)
        async with aclosing(export_transcript(store, generation, generations)) as lines:
            async for line in lines:
                await sink(name, line)
    return tuple(names)


async def export_transcript(
    store: Store, generation: Generation, generations: tuple[Generation, ...], written: int = 0
) -> AsyncGenerator[bytes, None]:
    """The lines of one file that come after those that are written: a generation with the branches that were in its file
    when it was imported."""
    layout = Layout.parse(generation.header)
    first = _native_header(generation) if layout is None else layout.first
    heads = () if first is None else (first.encode(),)
    parts = tuple(_parts(generation, generations))
    entries = sum(count for _, count in parts)
    last = len(heads) + entries if layout and layout.open_end == entries else None
    for head in heads[written:]:
        written += 1
        yield head if written == last else head + b"\n"
    async with aclosing(_in_file_order(store, parts, written - len(heads))) as lines:
        async for line in lines:
            written += 1
            yield line if written == last else line + b"\n"


def files_of(generations: tuple[Generation, ...]) -> tuple[Generation, ...]:
    """The generations that have a file of their own."""
    ids = {generation.session_id for generation in generations}
    return tuple(
        generation
        for generation in generations
        if (layout := Layout.parse(generation.header)) is None or layout.branch_of not in ids
    )


def file_name(generation: Generation) -> str:
    """With the topic, where that can be part of a name."""
    try:
        return transcript_name(generation.session_id, generation.key.topic)
    except InvalidInput:
        return transcript_name(generation.session_id)


def _native_header(generation: Generation) -> str:
    base = generation.base
    header = Header(
        id=generation.session_id, at=generation.opened_at, parent_session=base.session_id if base else None
    )
    return compact(header_to_json(header))


def _parts(generation: Generation, generations: tuple[Generation, ...]) -> Iterator[tuple[str, int]]:
    """Whose lines stand one after the other in a file, and how many; what has no place comes last."""
    branches = {
        other.session_id: layout.places
        for other in generations
        if (layout := Layout.parse(other.header)) and layout.branch_of == generation.session_id
    }
    own, place = generation.session_id, 0
    left = {one.session_id: one.entries for one in generations if one.session_id in {own, *branches}}

    def some(session_id: str, count: int) -> tuple[str, int]:
        taken = max(0, min(count, left[session_id]))
        left[session_id] -= taken
        return session_id, taken

    for stretch, branch in sorted((place, branch) for branch, places in branches.items() for place in places):
        yield some(own, stretch.start - place)
        yield some(branch, stretch.count)
        place = stretch.start + stretch.count
    for session_id in (own, *branches):
        yield some(session_id, left[session_id])


async def _in_file_order(
    store: Store, parts: tuple[tuple[str, int], ...], skip: int
) -> AsyncGenerator[bytes, None]:
    """The lines of all parts but the first `skip`."""
    passed: Counter[str] = Counter()
    sources: dict[str, _Lines] = {}
    for session_id, count in parts:
        over = min(skip, count)
        skip -= over
        passed[session_id] += over
        if session_id not in sources and over < count:
            sources[session_id] = _Lines(store, session_id, passed[session_id])
        for _ in range(count - over):
            line = await sources[session_id].next()
            if line is None:
                break
            yield line


async def added_lines(store: Store, generation: Generation, written: int) -> AsyncGenerator[bytes, None]:
    """The lines of a file of Roost's own that come after those that are written; the first of all is its header."""
    if not written:
        yield _native_header(generation).encode() + b"\n"
    lines = _Lines(store, generation.session_id, max(0, written - 1))
    while (line := await lines.next()) is not None:
        yield line + b"\n"


class _Lines:
    """The lines of one generation after so many. An entry that names no parent goes on from the one before it."""

    def __init__(self, store: Store, session_id: str, after: int = 0) -> None:
        self._store, self._session_id, self._after = store, session_id, after
        self._read: deque[Entry] = deque()
        self._previous: str | None = None
        self._looked_back = not after

    async def next(self) -> bytes | None:
        if not self._looked_back:
            self._previous = await self._named_before()
            self._looked_back = True
        if not self._read:
            self._read.extend(await self._entries(self._after, self._after + PAGE))
            self._after += PAGE
        if not self._read:
            return None
        entry = self._read.popleft()
        line = _line(entry, self._previous)
        if not entry.id.startswith(UNNAMED):
            self._previous = entry.id
        return line

    async def _named_before(self) -> str | None:
        through, step = self._after, 1
        while through > 0:
            after = max(0, through - step)
            for entry in reversed(await self._entries(after, through)):
                if not entry.id.startswith(UNNAMED):
                    return entry.id
            through, step = after, PAGE
        return None

    async def _entries(self, after: int, through: int) -> tuple[Entry, ...]:
        return tuple(await self._store.entries(self._session_id, after=after, through=through))


def _line(entry: Entry, previous: str | None) -> bytes:
    if entry.source is None and isinstance(entry.body, Notice) and entry.body.kind == UNPARSED:
        held = entry.body.data.get("base64")
        if isinstance(held, str):
            return base64.b64decode(held)
    if entry.source is None and entry.parent_id is None:
        entry = entry._replace(parent_id=previous)
    return line_of(entry).encode()
