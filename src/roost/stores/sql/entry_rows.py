"""Entries and the feed in SQL, and how entries are found again."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from roost.core.entries import Entry
from roost.core.events import Event, EventKind
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, ToolResult, UserMessage
from roost.core.queries import Position, SearchHit, SearchQuery, SessionQuery, Span, Spoken
from roost.core.sessions import Generation
from roost.stores.bodies import dump_body, load_body
from roost.stores.codec import key_text, sound, stored_key
from roost.stores.sql.rows import Bindings, Row, filtered, listed, scope_conditions, spells
from roost.stores.sql.session_rows import SessionRows

END = 2**62
ROLES: dict[type, str] = {UserMessage: "user", AssistantMessage: "assistant", ToolResult: "tool"}


class EntryRows(SessionRows):
    async def insert_entries(self, key: SessionKey, entries: Sequence[Entry]) -> None:
        if entries:
            generation = await self._generation_row(entries[0].session_id)
            await self._insert_entries(key, generation, entries)

    @abstractmethod
    async def _insert_entries(self, key: SessionKey, generation: int, entries: Sequence[Entry]) -> None:
        """Write entries of one generation, and what they can be found by."""

    @abstractmethod
    async def _matching(self, query: SearchQuery, bindings: Bindings) -> list[str]:
        """The conditions for entries that match; adds what they bind."""

    async def _generation_row(self, session_id: str) -> int:
        return await self._figure("generation_row", (session_id,))

    async def entries(self, session_id: str, after: int, through: int | None) -> tuple[Entry, ...]:
        bindings = (session_id, after, END if through is None else through)
        return tuple([_read_entry(session_id, row) for row in await self._all("entries", bindings)])

    async def entries_before(
        self, generation: Generation, before: Position | None, limit: int, *, tools: bool
    ) -> Sequence[Entry]:
        cut = before.seq if before and before.generation == generation.number else END
        statement = "entries_before" if tools else "prose_before"
        rows = await self._all(statement, (generation.session_id, cut, limit))
        return [_read_entry(generation.session_id, row) for row in rows]

    async def spoken(self, query: SessionQuery, span: Span) -> tuple[Spoken, ...]:
        bindings: Bindings = {
            "since": span.since,
            "until": span.until,
            "spells": spells(span.calendar),
        }
        rows = await self._listed("spoken", query, bindings)
        return tuple(
            Spoken(day=day, user=int(user), assistant=int(words), tools=int(tools))
            for day, user, words, tools in rows
        )

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        bindings: Bindings = {"tenant": self._tenant, "limit": query.limit, "offset": query.offset}
        conditions = await self._matching(query, bindings) + scope_conditions(query.scope, bindings)
        if query.hidden:
            conditions.append("where_shown")
            bindings["hidden"] = listed(query.hidden)
        if query.key is not None:
            conditions.append("where_key")
            bindings["key"] = key_text(query.key)
        if query.session_id is not None:
            conditions.append("where_generation")
            bindings["session_id"] = query.session_id
        return tuple(
            SearchHit(key=stored_key(row[0]), entry=_read_entry(row[1], row[2:]))
            for row in await self._rows(filtered(self.sql, "search", conditions), bindings)
        )

    async def insert_events(self, events: Sequence[Event]) -> None:
        rows = [
            (await self._number(event.key), event.number, event.at, event.kind, event.ref) for event in events
        ]
        await self._write_all("insert_event", rows)

    async def events(self, key: SessionKey, after: int, limit: int) -> tuple[Event, ...]:
        rows = await self._all("events", (self._tenant, key_text(key), after, limit))
        return tuple(
            Event(key=key, number=number, at=at, kind=_event_kind(kind), ref=ref)
            for number, at, kind, ref in rows
        )


@sound
def _event_kind(text: str) -> EventKind:
    return EventKind(text)


def entry_values(entry: Entry) -> Row:
    body = entry.body
    provenance = body.provenance if isinstance(body, UserMessage) else None
    return (
        entry.seq,
        entry.id,
        entry.parent_id,
        entry.run_id,
        ROLES.get(type(body), "other"),
        provenance.kind if provenance else None,
        provenance.source_session if provenance else None,
        str(provenance.principal) if provenance else None,
        body.at,
        dump_body(body),
        entry.source,
    )


def _read_entry(session_id: str, row: Any) -> Entry:
    seq, entry_id, body, parent_id, run_id, source = row
    # By place and without a constructor's call, as every row of a transcript passes here.
    return _made(Entry, (session_id, seq, entry_id, load_body(body), parent_id, run_id, source))


_made = tuple.__new__
