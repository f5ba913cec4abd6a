"""What retention finds and removes in SQLite."""

from typing import Any

from roost.core.keys import SessionKey
from roost.core.retention import Candidate, Fullness, Record, Sort
from roost.stores.codec import key_text, sound, stored_key
from roost.stores.sqlite.rows import SQL, Binding, Rows


class RetentionRows(Rows):
    async def has_work(self, key: SessionKey) -> bool:
        row: Any = self._execute(SQL["has_work"], {"key": key_text(key)}).fetchone()
        return bool(row[0])

    async def fullness(self) -> Fullness:
        pages = self._pragma("page_count") - self._pragma("freelist_count")
        shown = self._figure("count_unarchived", {"tenant": self._tenant})
        return Fullness(sessions=shown, bytes=pages * self._pragma("page_size"))

    async def sweepable(self, before: int) -> tuple[Candidate, ...]:
        bindings: dict[str, Binding] = {"tenant": self._tenant, "before": before}
        return tuple(_read_candidate(row) for row in self._execute(SQL["sweepable"], bindings))

    async def session_bytes(self, key: SessionKey) -> int:
        return self._figure("session_bytes", {"tenant": self._tenant, "key": key_text(key)})

    async def stale_generations(self, before: int) -> tuple[str, ...]:
        return tuple(str(row[0]) for row in self._execute(SQL["stale_generations"], (before,)))

    async def delete_generation(self, session_id: str) -> None:
        self._execute(SQL["delete_generation_search"], (session_id,))
        self._execute(SQL["delete_generation"], (session_id,))

    async def stale_feeds(self, before: int) -> tuple[SessionKey, ...]:
        return tuple(stored_key(row[0]) for row in self._execute(SQL["stale_feeds"], (before,)))

    async def count_stale_events(self, key: SessionKey, before: int) -> int:
        return self._figure(
            "count_stale_events", {"tenant": self._tenant, "key": key_text(key), "before": before}
        )

    async def delete_stale_events(self, key: SessionKey, before: int) -> None:
        self._execute(
            SQL["delete_stale_events"], {"tenant": self._tenant, "key": key_text(key), "before": before}
        )

    async def count_stale_inbound(self, before: int) -> int:
        return self._figure("count_stale_inbound", {"before": before})

    async def delete_stale_inbound(self, before: int, limit: int) -> int:
        self._execute(SQL["delete_stale_inbound"], {"before": before, "limit": limit})
        return self._connection.changes()

    async def count_stale_records(self, record: Record, before: int) -> int:
        return self._figure(f"count_stale_{record}", {"tenant": self._tenant, "before": before})

    async def delete_stale_records(self, record: Record, before: int, limit: int) -> int:
        bindings: dict[str, Binding] = {"tenant": self._tenant, "before": before, "limit": limit}
        self._execute(SQL[f"delete_stale_{record}"], bindings)
        return self._connection.changes()

    async def free_pages(self, limit: int) -> int:
        free = self._pragma("freelist_count")
        # To the end: each page is a row of the answer.
        self._execute(f"PRAGMA incremental_vacuum({limit:d})").fetchall()
        return (free - self._pragma("freelist_count")) * self._pragma("page_size")

    def _pragma(self, name: str) -> int:
        return int(self._connection.pragma(name))

    def _figure(self, statement: str, bindings: dict[str, Binding]) -> int:
        row: Any = self._execute(SQL[statement], bindings).fetchone()
        return int(row[0])


@sound
def _read_candidate(row: Any) -> Candidate:
    key, sort, updated, archived, bound = row
    return Candidate(
        key=stored_key(key), sort=Sort(sort), updated=updated, archived=bool(archived), bound=bool(bound)
    )
