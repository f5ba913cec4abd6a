"""A session with all below it, as one file to take elsewhere: transcripts, an index of them, what it cost; no secret.

What was said while it is written may be in it or not. Runs, deliveries, save points and files of workspaces stay here.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import BinaryIO

from anyio import to_thread

from roost.core.errors import Conflict, NotFound
from roost.core.jsonvalue import JsonObject, JsonValue, compact
from roost.core.keys import SessionKey
from roost.core.queries import LedgerQuery, SessionQuery
from roost.core.sessions import Generation, Session
from roost.ports import Store
from roost.transfer.archives import Packer, Write
from roost.transfer.bundlerows import call_to_json, generation_to_json, session_to_json
from roost.transfer.cleaning import Clean, masked
from roost.transfer.export import export_transcript, file_name, files_of

INDEX, USAGE = "sessions.json", "usage.jsonl"
PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """How much there is in a bundle."""

    sessions: int
    transcripts: int
    lines: int
    calls: int


async def pack(store: Store, root: SessionKey, out: BinaryIO, clean: Clean, now: int) -> Packed:
    """Write a session and its descendants to `out`."""
    with Packer(out) as packer:
        return await _packed(_Packing(store, packer, clean), root, now)


async def _packed(packing: "_Packing", root: SessionKey, now: int) -> Packed:
    index: dict[str, JsonValue] = {}
    async for row in _family(packing.store, root):
        if row.key == root or str(row.lineage.parent) in index:
            written = await packing.session(row)
            if written is not None:
                index[packing.plain(row.key)] = written
    if not index:
        raise _missing(root)
    with packing.packer.part(INDEX) as write:
        await to_thread.run_sync(write, compact(index).encode())
    calls = await packing.calls(LedgerQuery(tree_of=root, until=now + 1))
    packed = Packed(sessions=len(index), transcripts=packing.transcripts, lines=packing.lines, calls=calls)
    said: JsonObject = {
        "madeAt": now,
        "root": str(root),
        "counts": {
            "sessions": packed.sessions,
            "transcripts": packed.transcripts,
            "lines": packed.lines,
            "calls": packed.calls,
        },
    }
    await to_thread.run_sync(packing.packer.close, said)
    return packed


async def _family(store: Store, root: SessionKey) -> AsyncIterator[Session]:
    """Parents before their children."""
    top = await store.session(root)
    if top is None:
        raise _missing(root)
    yield top
    parents = frozenset({root})
    while parents:
        found = await _children(store, parents)
        for row in sorted(found.values(), key=lambda row: (row.times.created, str(row.key))):
            yield row
        parents = frozenset(found)


async def _children(store: Store, parents: frozenset[SessionKey]) -> dict[SessionKey, Session]:
    """All there are, each once. What goes on meanwhile moves to the first page: they are looked through until nothing
    new is among them."""
    found: dict[SessionKey, Session] = {}
    known = -1
    while known < len(found):
        known, query = len(found), SessionQuery(parents=parents, archived=None, limit=PAGE)
        while (page := await store.list_sessions(query)).rows:
            found |= {row.key: row for row in page.rows}
            query = replace(query, offset=query.offset + PAGE)
    return found


def _missing(root: SessionKey) -> NotFound:
    return NotFound(f"no session {root}", hint="take the key from the list of sessions")


class _Packing:
    def __init__(self, store: Store, packer: Packer, clean: Clean) -> None:
        self.store = store
        self._clean = clean
        self.packer = packer
        self.transcripts = self.lines = 0

    def plain(self, key: SessionKey) -> str:
        """A key as it is, which must hold no secret: under another it would be another session."""
        text = str(key)
        if self._clean(text) != text:
            raise Conflict(
                "there is a secret in the key of a session", hint="nothing was written; fork it first"
            )
        return text

    async def session(self, row: Session) -> JsonObject | None:
        """None where it is gone meanwhile."""
        generations = await self.store.generations(row.key)
        if not generations:
            return None
        written = [await self._transcript(one, generations) for one in files_of(generations)]
        return session_to_json(row, written, self._clean)

    async def _transcript(self, one: Generation, generations: tuple[Generation, ...]) -> JsonObject:
        name = file_name(one)
        self.transcripts += 1
        with self.packer.part(name) as write:
            async with aclosing(export_transcript(self.store, one, generations)) as lines:
                held: list[bytes] = []
                async for line in lines:
                    held.append(line)
                    if len(held) == PAGE:
                        await to_thread.run_sync(self._write, write, held)
                        held = []
                await to_thread.run_sync(self._write, write, held)
        return generation_to_json(one, name, self._clean)

    def _write(self, write: Write, lines: list[bytes]) -> None:
        write(b"".join(masked(line, self._clean) for line in lines))
        self.lines += len(lines)

    async def calls(self, query: LedgerQuery) -> int:
        written: set[str] = set()
        offset = 0
        with self.packer.part(USAGE) as write:
            while page := await self.store.ledger(query, offset=offset, limit=PAGE):
                # What is added meanwhile moves the others to the next page.
                new = [row for row in page if row.id not in written]
                rows = "".join(f"{compact(call_to_json(row, self._clean))}\n" for row in new)
                await to_thread.run_sync(write, rows.encode())
                written |= {row.id for row in new}
                offset += PAGE
        return len(written)
