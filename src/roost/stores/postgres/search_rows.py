"""Entries and how they are found again in PostgreSQL.

An index of tokens finds the candidates: it keeps no places, of which it could hold only the first few thousand. That
the tokens of a phrase stand side by side is seen in the segmented text.
"""

from collections.abc import Sequence
from typing import TypeAlias

from roost.core.entries import Entry
from roost.core.keys import SessionKey
from roost.core.messages import Body
from roost.core.queries import SearchQuery
from roost.core.search import searchable_text, segment
from roost.stores.codec import to_text
from roost.stores.postgres.rows import PostgresRows
from roost.stores.sql.entry_rows import EntryRows, entry_values
from roost.stores.sql.retention_rows import RetentionRows
from roost.stores.sql.rows import Bindings

# An index of one text may have a megabyte, a token of it 2,046 bytes.
LONGEST_WORDS = 131_072
LONGEST_TOKEN = 500


SearchRow: TypeAlias = tuple[str, str, int, int]


class SearchRows(PostgresRows, EntryRows, RetentionRows):
    async def _insert_entries(self, key: SessionKey, generation: int, entries: Sequence[Entry]) -> None:
        await self._write_all("insert_entry", [(generation, *entry_values(entry)) for entry in entries])
        rows = [row for entry in entries if (row := search_row(generation, entry.seq, entry.body))]
        if rows:
            await self._write_all("insert_search", rows)

    async def _matching(self, query: SearchQuery, bindings: Bindings) -> list[str]:
        phrases = query.query.phrases
        tokens = [token for phrase in phrases for token in phrase]
        bindings["match"] = " & ".join(_quoted(token) for token in _tokens(tokens))
        close = [f" {' '.join(phrase)} " for phrase in phrases if _needs_a_look(phrase)]
        if not close:
            return ["where_matching"]
        bindings["phrases"] = to_text(close)
        return ["where_matching", "where_side_by_side"]

    async def free_pages(self, limit: int) -> int:
        """The server keeps what is free for what comes next."""
        return 0

    async def _used_bytes(self) -> int:
        return await self._figure("used_bytes", ())


def search_row(generation: int, seq: int, body: Body) -> SearchRow | None:
    """What an entry is found by, and which it is; None if there is no word in it."""
    words = segment(searchable_text(body))[:LONGEST_WORDS]
    return (to_text(_tokens(words.split())), words, generation, seq) if words else None


def _tokens(words: list[str]) -> list[str]:
    return list(dict.fromkeys(word[:LONGEST_TOKEN] for word in words))


def _needs_a_look(phrase: tuple[str, ...]) -> bool:
    return len(phrase) > 1 or len(phrase[0]) >= LONGEST_TOKEN


def _quoted(token: str) -> str:
    """A token in the language of tsquery, whatever is in it."""
    return "'" + token.replace("\\", "\\\\").replace("'", "''") + "'"
