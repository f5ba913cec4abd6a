"""A session as transcript files, byte for byte where it was imported. Whether it may be had is decided before."""

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
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
from roost.transfer.layout import Layout, Stretch
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
    store: Store, generation: Generation, generations: tuple[Generation, ...]
) -> AsyncGenerator[bytes, None]:
    """The lines of one file: a generation with the branches that were in its file when it was imported."""
    layout = Layout.parse(generation.header)
    first = _native_header(generation) if layout is None else layout.first
    held = None if first is None else first.encode()
    entries = 0
    async with aclosing(_in_file_order(store, generation, generations)) as lines:
        async for line in lines:
            if held is not None:
                yield held + b"\n"
            held = line
            entries += 1
    if held is not None:
        yield held if layout and layout.open_end == entries else held + b"\n"


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


async def _in_file_order(
    store: Store, generation: Generation, generations: tuple[Generation, ...]
) -> AsyncGenerator[bytes, None]:
    """The lines of a generation with those of its branches where they stood; what has no place comes last."""
    branches: dict[str, AsyncIterator[bytes]] = {}
    stretches: list[tuple[Stretch, str]] = []
    for other in generations:
        layout = Layout.parse(other.header)
        if layout is not None and layout.branch_of == generation.session_id:
            branches[other.session_id] = _lines(store, other.session_id)
            stretches += [(stretch, other.session_id) for stretch in layout.places]
    own = _lines(store, generation.session_id)
    place = 0
    for stretch, session_id in sorted(stretches):
        async for line in _some(own, stretch.start - place):
            yield line
        async for line in _some(branches[session_id], stretch.count):
            yield line
        place = stretch.start + stretch.count
    for rest in (own, *branches.values()):
        async for line in rest:
            yield line


async def _some(lines: AsyncIterator[bytes], count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        line = await anext(lines, None)
        if line is None:
            return
        yield line


async def added_lines(store: Store, generation: Generation, written: int) -> AsyncGenerator[bytes, None]:
    """The lines of a file of Roost's own that come after those that are written; the first of all is its header."""
    if not written:
        yield _native_header(generation).encode() + b"\n"
    after = max(0, written - 1)
    before = await store.entries(generation.session_id, after=after - 1, through=after) if after else ()
    previous = before[0].id if before and not before[0].id.startswith(UNNAMED) else None
    async for line in _lines(store, generation.session_id, after, previous):
        yield line + b"\n"


async def _lines(
    store: Store, session_id: str, after: int = 0, previous: str | None = None
) -> AsyncIterator[bytes]:
    """The lines of one generation. An entry that names no parent goes on from the one before it."""
    while page := await store.entries(session_id, after=after, through=after + PAGE):
        for entry in page:
            yield _line(entry, previous)
            if not entry.id.startswith(UNNAMED):
                previous = entry.id
        after += PAGE


def _line(entry: Entry, previous: str | None) -> bytes:
    if entry.source is None and isinstance(entry.body, Notice) and entry.body.kind == UNPARSED:
        held = entry.body.data.get("base64")
        if isinstance(held, str):
            return base64.b64decode(held)
    if entry.source is None and entry.parent_id is None:
        entry = entry._replace(parent_id=previous)
    return line_of(entry).encode()
