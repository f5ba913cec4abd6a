"""Entries, their search index and the feed in SQLite."""

from collections.abc import Sequence
from typing import Any

from roost.core.entries import Entry
from roost.core.events import Event, EventKind
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, ToolResult, UserMessage
from roost.core.queries import Position, SearchHit, SearchQuery
from roost.core.search import Query, index_text, searchable_text
from roost.core.sessions import Generation
from roost.stores.bodies import dump_body, load_body
from roost.stores.codec import key_text, sound, stored_key
from roost.stores.sqlite.rows import SQL, Binding, Row, filtered, listed, scope_conditions
from roost.stores.sqlite.session_rows import SessionRows

END = 2**62
MOST_MARKS = 256
NO_MARK = '"#"'
ROLES: dict[type, str] = {UserMessage: "user", AssistantMessage: "assistant", ToolResult: "tool"}


class EntryRows(SessionRows):
    async def insert_entries(self, key: SessionKey, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        generation, session = self._generation_row(entries[0].session_id), self._number(key)
        rows: list[Row] = []
        words: list[Row] = []
        for number, entry in enumerate(entries, start=self._entry_numbers(len(entries))):
            rows.append((number, generation, *entry_values(entry)))
            text = searchable_text(entry.body)
            if text:
                words.append((number, search_words(text, session)))
        self._write_all("insert_entry", rows)
        self._write_all("insert_search", words)

    def _entry_numbers(self, count: int) -> int:
        """The first of so many row numbers that are free."""
        row: Any = self._execute(SQL["last_entry"]).fetchone()
        return int(row[0]) + 1

    def _generation_row(self, session_id: str) -> int:
        row: Any = self._execute(SQL["generation_row"], (session_id,)).fetchone()
        return int(row[0])

    async def entries(self, session_id: str, after: int, through: int | None) -> tuple[Entry, ...]:
        bindings = (session_id, after, END if through is None else through)
        return tuple([_read_entry(session_id, row) for row in self._execute(SQL["entries"], bindings)])

    async def entries_before(
        self, generation: Generation, before: Position | None, limit: int, *, tools: bool
    ) -> Sequence[Entry]:
        cut = before.seq if before and before.generation == generation.number else END
        statement = SQL["entries_before" if tools else "prose_before"]
        rows = self._execute(statement, (generation.session_id, cut, limit))
        return [_read_entry(generation.session_id, row) for row in rows]

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        bindings: dict[str, Binding] = {
            "match": match_text(query.query),
            "tenant": self._tenant,
            "limit": query.limit,
            "offset": query.offset,
        }
        conditions = scope_conditions(query.scope, bindings)
        marks = self._marks(query)
        if marks is not None:
            bindings["match"] = f"({bindings['match']}) AND ({' OR '.join(marks) or NO_MARK})"
        if query.hidden:
            conditions.append("where_shown")
            bindings["hidden"] = listed(query.hidden)
        if query.key is not None:
            conditions.append("where_key")
            bindings["key"] = key_text(query.key)
        return tuple(
            SearchHit(key=stored_key(row[0]), entry=_read_entry(row[1], row[2:]))
            for row in self._execute(filtered("search", conditions), bindings)
        )

    def _marks(self, query: SearchQuery) -> list[str] | None:
        """The sessions a search is confined to, in the language of FTS5, if they are few: what is asked for may be in
        every entry of the others. Which of them may be seen is not decided here."""
        bindings: dict[str, Binding] = {"tenant": self._tenant, "limit": MOST_MARKS + 1}
        if query.key is not None:
            conditions = ["where_key"]
            bindings["key"] = key_text(query.key)
        elif query.scope.agents == frozenset():
            conditions = scope_conditions(query.scope, bindings)
        else:
            return None
        rows: list[Any] = self._execute(filtered("session_numbers", conditions), bindings).fetchall()
        return [f'"{session_mark(row[0])}"' for row in rows] if len(rows) <= MOST_MARKS else None

    async def insert_events(self, events: Sequence[Event]) -> None:
        self._write_all(
            "insert_event",
            [(self._number(event.key), event.number, event.at, event.kind, event.ref) for event in events],
        )

    async def events(self, key: SessionKey, after: int, limit: int) -> tuple[Event, ...]:
        rows = self._execute(SQL["events"], (self._tenant, key_text(key), after, limit))
        return tuple(
            Event(key=key, number=number, at=at, kind=_event_kind(kind), ref=ref)
            for number, at, kind, ref in rows
        )


@sound
def _event_kind(text: str) -> EventKind:
    return EventKind(text)


def match_text(query: Query) -> str:
    """A query in the language of FTS5: every phrase, all of them."""
    return " AND ".join('"' + " ".join(phrase).replace('"', '""') + '"' for phrase in query.phrases)


def search_words(text: str, session: int) -> str:
    """What is indexed of a text: its tokens, and the mark of its session behind them."""
    return f"{index_text(text)} {session_mark(session)}"


def session_mark(number: int) -> str:
    """A token in every entry of a session. No text and no query has one like it: punctuation ends their tokens."""
    return f"#{number}"


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
    return Entry(session_id, seq, entry_id, load_body(body), parent_id, run_id, source)
