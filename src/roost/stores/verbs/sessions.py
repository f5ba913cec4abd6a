"""Sessions and their transcripts."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from roost.core import timeline
from roost.core.addresses import Address
from roost.core.effects import RecordUsage
from roost.core.entries import Entry, EntryDraft
from roost.core.errors import InvalidInput
from roost.core.events import EventKind
from roost.core.feeds import News
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.listing import Glance, Overview
from roost.core.messages import ToolResult
from roost.core.numbers import refuse_oversized
from roost.core.principals import Principal
from roost.core.queries import (
    HistoryPage,
    HistoryQuery,
    Page,
    Position,
    SearchHit,
    SearchQuery,
    SessionContext,
    SessionQuery,
    Span,
    Talk,
    refuse_limit,
)
from roost.core.runs import Claim, Run
from roost.core.sessions import Generation, Session
from roost.core.snapshots import Decide, DecideSpawn
from roost.core.threads import ThreadBinding
from roost.core.trees import DecideTree
from roost.stores.applying import apply
from roost.stores.families import tree_of
from roost.stores.seeing import seen_spawn
from roost.stores.tables import Tables
from roost.stores.unit import Unit
from roost.stores.verbs.base import Answer, Verbs

Row = TypeVar("Row")


class SessionVerbs(Verbs):
    async def session(self, key: SessionKey) -> Session | None:
        return await self._look(lambda tables: tables.session(key))

    async def session_by_id(self, session_id: str) -> Session | None:
        return await self._look(lambda tables: tables.session_by_id(session_id))

    async def ancestors(self, key: SessionKey) -> tuple[SessionKey, ...]:
        return await self._look(lambda tables: tables.ancestors(key))

    async def participants(self, key: SessionKey) -> frozenset[Principal]:
        return await self._look(lambda tables: tables.participants(key))

    async def forks(self, key: SessionKey) -> tuple[SessionKey, ...]:
        return await self._look(lambda tables: tables.forks(key))

    async def generations(self, key: SessionKey) -> tuple[Generation, ...]:
        return await self._look(lambda tables: tables.generations(key))

    async def thread_binding(self, address: Address) -> ThreadBinding | None:
        return await self._look(lambda tables: tables.binding(address))

    async def list_sessions(self, query: SessionQuery) -> Page[Session]:
        rows = await self._look(lambda tables: tables.sessions(replace(query, limit=query.limit + 1)))
        return _page(rows, query)

    async def glances(self, query: SessionQuery) -> Page[Glance]:
        return await self._look(lambda tables: _glances(tables, query))

    async def overview(
        self, query: SessionQuery, *, children: int, show: Callable[[Overview], Answer]
    ) -> Answer:
        async def verb(tables: Tables) -> Answer:
            return show(await _overview(tables, query, children))

        return await self._read(verb)

    async def change_session(self, key: SessionKey, decide: Decide) -> Session | None:
        async def verb(unit: Unit) -> Session | None:
            await apply(unit, decide(await unit.snapshot(key)))
            await unit.flush()
            return await unit.session(key)

        return await self._write(verb)

    async def spawn(self, key: SessionKey, decide: DecideSpawn, labels: frozenset[str] = frozenset()) -> None:
        async def verb(unit: Unit) -> None:
            await apply(unit, decide(await seen_spawn(unit, key, labels)))

        await self._write(verb)

    async def change_tree(self, key: SessionKey, decide: DecideTree) -> None:
        async def verb(unit: Unit) -> None:
            await apply(unit, decide(await tree_of(unit, key)))

        await self._write(verb)

    async def append(
        self,
        key: SessionKey,
        drafts: tuple[EntryDraft, ...],
        *,
        claim: Claim | None = None,
        spent: tuple[LedgerRow, ...] = (),
    ) -> tuple[Entry, ...]:
        async def verb(unit: Unit) -> tuple[Entry, ...]:
            run = None if claim is None else await unit.writing_run(claim)
            if run is not None and run.key != key:
                raise InvalidInput(f"run {run.id} does not run on {key}")
            await apply(unit, tuple([RecordUsage(row=row) for row in spent]))
            if not drafts:
                return ()
            if run is not None and _ends_step(run, drafts):
                await unit.tables.update_run(_step_done(run))
            kept = unit.sealed(drafts)
            entries = await unit.append(key, kept if claim is None else _steps(kept, claim.id))
            unit.emit(key, EventKind.ENTRY, *(entry.id for entry in entries))
            return entries

        return await self._write(verb)

    async def entries(
        self, session_id: str, *, after: int = 0, through: int | None = None
    ) -> tuple[Entry, ...]:
        refuse_oversized(after, through)
        return await self._look(lambda tables: tables.entries(session_id, after, through))

    async def conversation(self, session_id: str) -> SessionContext | None:
        return await self._read(lambda tables: _conversation(tables, session_id))

    async def history(self, query: HistoryQuery) -> HistoryPage:
        async def verb(tables: Tables) -> HistoryPage:
            return await _history(tables, query)

        return await self._read(verb)

    async def news(self, key: SessionKey, *, after: int, limit: int) -> News:
        refuse_limit(limit)
        refuse_oversized(after)
        return await self._read(lambda tables: _news(tables, key, after, limit))

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        return await self._look(lambda tables: tables.search(query))

    async def spoken(self, query: SessionQuery, span: Span) -> Talk:
        whole = replace(query, after=None)

        async def verb(tables: Tables) -> Talk:
            return Talk(sessions=await tables.count_listed(whole), days=await tables.spoken(whole, span))

        return await self._read(verb)


def _page(rows: Sequence[Row], query: SessionQuery) -> Page[Row]:
    """Of rows that were asked for with one more than the limit."""
    return Page(tuple(rows[: query.limit]), more=len(rows) > query.limit)


async def _glances(tables: Tables, query: SessionQuery) -> Page[Glance]:
    return _page(await tables.glances(replace(query, limit=query.limit + 1)), query)


async def _overview(tables: Tables, query: SessionQuery, most: int) -> Overview:
    page = await _glances(tables, query)
    children: defaultdict[SessionKey, list[SessionKey]] = defaultdict(list)
    if not page.rows:
        return Overview(page=page, children={})
    keys = frozenset([row.key for row in page.rows])
    found = await tables.kin(SessionQuery(scope=query.scope, parents=keys, limit=most + 1))
    for parent, child in found[:most]:
        children[parent].append(child)
    return Overview(page=page, children=dict(children), more_children=len(found) > most)


def _ends_step(run: Run, drafts: tuple[EntryDraft, ...]) -> bool:
    step = run.progress.step
    return step is not None and any(
        isinstance(draft.body, ToolResult) and draft.body.call_id == step.call_id for draft in drafts
    )


def _step_done(run: Run) -> Run:
    step = run.progress.step
    return replace(run, progress=replace(run.progress, step=step and replace(step, done=True)))


def _steps(drafts: tuple[EntryDraft, ...], run_id: str) -> tuple[EntryDraft, ...]:
    return tuple([draft if draft.run_id == run_id else replace(draft, run_id=run_id) for draft in drafts])


async def _conversation(tables: Tables, session_id: str) -> SessionContext | None:
    session = await tables.session_by_id(session_id)
    if session is None:
        return None
    known = await read_from(tables, session.key)
    entries: list[Entry] = []
    for segment in timeline.context(known, session_id):
        entries += await tables.entries(segment.session_id, segment.after, segment.through)
    return SessionContext(
        session=session, entries=tuple(entries), delegates=await _delegates(tables, session.key)
    )


async def _delegates(tables: Tables, key: SessionKey) -> bool:
    children = SessionQuery(parents=frozenset({key}), archived=None, limit=1)
    return bool(await tables.owed(key) or await tables.kin(children))


async def read_from(tables: Tables, key: SessionKey) -> tuple[Generation, ...]:
    """The generations that the conversations under a key are read from, oldest first."""
    known = [*await tables.generations(key)]
    # A fork's base is a generation of another session.
    while (wanted := _unknown_base(known)) and (other := await tables.session_by_id(wanted)) is not None:
        known += await tables.generations(other.key)
    return tuple(known)


def _unknown_base(known: list[Generation]) -> str | None:
    ids = {one.session_id for one in known}
    return next((one.base.session_id for one in known if one.base and one.base.session_id not in ids), None)


async def _news(tables: Tables, key: SessionKey, after: int, limit: int) -> News:
    session, events = await tables.session(key), await tables.events(key, after, limit)
    named = {event.ref for event in events if event.kind is EventKind.ENTRY}
    if session is None or not named:
        return News(session, events, ())
    found: list[Entry] = []
    # Sought from the newest on, which most often they are. Whatever is newer than the first has an event after its own.
    left, query = session.events - events[0].number + 1, HistoryQuery(key=key, limit=len(named))
    while True:
        page = await _history(tables, query)
        found = [entry for entry in page.entries if entry.id in named] + found
        left -= len(page.entries)
        if len(found) >= len(named) or page.before is None or left <= 0:
            return News(session, events, tuple(found))
        query = replace(query, before=page.before, limit=limit)


async def _history(tables: Tables, query: HistoryQuery) -> HistoryPage:
    """Walk the generations backwards until the page is full, and one entry further to know of more."""
    generations = [
        generation
        for generation in await tables.generations(query.key)
        if generation.session_id == query.session_id or (query.session_id is None and not generation.archived)
    ]
    wanted = query.limit + 1
    found: list[tuple[int, Entry]] = []
    for generation in reversed(generations):
        if query.before is not None and generation.number > query.before.generation:
            continue
        batch = await tables.entries_before(generation, query.before, wanted - len(found), tools=query.tools)
        found += [(generation.number, entry) for entry in batch]
        if len(found) >= wanted:
            break
    page = found[: query.limit]
    number, oldest = page[-1] if len(found) > query.limit else (0, None)
    return HistoryPage(
        entries=tuple([entry for _, entry in reversed(page)]),
        generations=tuple(generations),
        before=None if oldest is None else Position(number, oldest.seq),
    )
