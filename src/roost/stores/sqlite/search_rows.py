"""What SQLite keeps in its own way: the search index, which hangs on no other table, and the pages of the file."""

from collections.abc import Sequence
from typing import Any

from roost.core.entries import Entry
from roost.core.keys import SessionKey
from roost.core.queries import SearchQuery
from roost.core.search import Query, index_text, searchable_text
from roost.stores.codec import key_text
from roost.stores.sql.entry_rows import EntryRows, entry_values
from roost.stores.sql.retention_rows import RetentionRows
from roost.stores.sql.rows import Bindings, Row, filtered, scope_conditions
from roost.stores.sqlite.rows import SqliteRows

MOST_MARKS = 256
NO_MARK = '"#"'


class SearchRows(SqliteRows, EntryRows, RetentionRows):
    async def _insert_entries(self, key: SessionKey, generation: int, entries: Sequence[Entry]) -> None:
        session = await self._number(key)
        rows: list[Row] = []
        words: list[Row] = []
        for number, entry in enumerate(entries, start=self._entry_numbers(len(entries))):
            rows.append((number, generation, *entry_values(entry)))
            text = searchable_text(entry.body)
            if text:
                words.append((number, search_words(text, session)))
        await self._write_all("insert_entry", rows)
        await self._write_all("insert_search", words)

    def _entry_numbers(self, count: int) -> int:
        """The first of so many row numbers that are free."""
        row: Any = self._execute(self.sql["last_entry"]).fetchone()
        return int(row[0]) + 1

    async def _matching(self, query: SearchQuery, bindings: Bindings) -> list[str]:
        match, marks = match_text(query.query), await self._marks(query)
        if marks is not None:
            match = f"({match}) AND ({' OR '.join(marks) or NO_MARK})"
        bindings["match"] = match
        return ["where_matching"]

    async def _marks(self, query: SearchQuery) -> list[str] | None:
        """The sessions a search is confined to, in the language of FTS5, if they are few: what is asked for may be in
        every entry of the others. Which of them may be seen is not decided here."""
        bindings: Bindings = {"tenant": self._tenant, "limit": MOST_MARKS + 1}
        if query.key is not None:
            conditions = ["where_key"]
            bindings["key"] = key_text(query.key)
        elif query.scope.agents == frozenset():
            conditions = scope_conditions(query.scope, bindings)
        else:
            return None
        rows = await self._rows(filtered(self.sql, "session_numbers", conditions), bindings)
        return [f'"{session_mark(row[0])}"' for row in rows] if len(rows) <= MOST_MARKS else None

    async def delete_session(self, key: SessionKey) -> None:
        await self._do("delete_search", (await self._number(key),))
        await super().delete_session(key)

    async def delete_generation(self, session_id: str) -> None:
        await self._do("delete_generation_search", (session_id,))
        await super().delete_generation(session_id)

    async def free_pages(self, limit: int) -> int:
        free = self._pragma("freelist_count")
        # To the end: each page is a row of the answer.
        self._execute(f"PRAGMA incremental_vacuum({limit:d})").fetchall()
        return (free - self._pragma("freelist_count")) * self._pragma("page_size")

    async def _used_bytes(self) -> int:
        pages = self._pragma("page_count") - self._pragma("freelist_count")
        return pages * self._pragma("page_size")

    def _pragma(self, name: str) -> int:
        return int(self._connection.pragma(name))


def search_words(text: str, session: int) -> str:
    """What is indexed of a text: its tokens, and the mark of its session behind them."""
    return f"{index_text(text)} {session_mark(session)}"


def session_mark(number: int) -> str:
    """A token in every entry of a session. No text and no query has one like it: punctuation ends their tokens."""
    return f"#{number}"


def match_text(query: Query) -> str:
    """A query in the language of FTS5: every phrase, all of them."""
    return " AND ".join('"' + " ".join(phrase).replace('"', '""') + '"' for phrase in query.phrases)
