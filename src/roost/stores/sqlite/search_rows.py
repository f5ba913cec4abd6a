"""What SQLite keeps in its own way: the search index, which hangs on no other table, and the pages of the file."""

from collections.abc import Sequence
from typing import Any

from roost.core.entries import Entry
from roost.core.keys import SessionKey
from roost.core.search import Query, index_text, searchable_text
from roost.stores.sql.entry_rows import EntryRows, entry_values
from roost.stores.sql.retention_rows import RetentionRows
from roost.stores.sql.rows import Bindings, Row
from roost.stores.sqlite.rows import SqliteRows


class SearchRows(SqliteRows, EntryRows, RetentionRows):
    async def _insert_entries(self, generation: int, entries: Sequence[Entry]) -> None:
        rows: list[Row] = []
        words: list[Row] = []
        for number, entry in enumerate(entries, start=self._entry_numbers(len(entries))):
            rows.append((number, generation, *entry_values(entry)))
            text = searchable_text(entry.body)
            if text:
                words.append((number, index_text(text)))
        await self._write_all("insert_entry", rows)
        await self._write_all("insert_search", words)

    def _entry_numbers(self, count: int) -> int:
        """The first of so many row numbers that are free."""
        row: Any = self._execute(self.sql["last_entry"]).fetchone()
        return int(row[0]) + 1

    def _matching(self, query: Query, bindings: Bindings) -> list[str]:
        bindings["match"] = match_text(query)
        return ["where_matching"]

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


def match_text(query: Query) -> str:
    """A query in the language of FTS5: every phrase, all of them."""
    return " AND ".join('"' + " ".join(phrase).replace('"', '""') + '"' for phrase in query.phrases)
