"""What retention finds and removes in SQL."""

from abc import abstractmethod
from typing import Any

from roost.core.deliveries import DeliveryState
from roost.core.keys import SessionKey
from roost.core.retention import Candidate, Fullness, Record, Sort
from roost.core.runs import RunState
from roost.core.workload import Workload
from roost.stores.codec import key_text, sound, stored_key
from roost.stores.sql.rows import Bindings, Rows, filtered


class RetentionRows(Rows):
    async def has_work(self, key: SessionKey) -> bool:
        row = await self._one("has_work", {"key": key_text(key)})
        return bool(row[0])

    async def has_undelivered(self, key: SessionKey) -> bool:
        return bool((await self._one("has_undelivered", (key_text(key),)))[0])

    async def fullness(self) -> Fullness:
        shown = await self._figure("count_unarchived", {"tenant": self._tenant})
        kept = await self._figure("count_sessions", {"tenant": self._tenant})
        return Fullness(sessions=shown, bytes=await self._used_bytes(), kept=kept)

    @abstractmethod
    async def _used_bytes(self) -> int:
        """What the store takes, without what is unused."""

    async def workload(self) -> Workload:
        runs, deliveries = await self._all("count_runs"), await self._all("count_deliveries")
        return Workload(
            waiting=await self._figure("count_pending", ()),
            runs={RunState(state): count for state, count in runs},
            deliveries={DeliveryState(state): count for state, count in deliveries},
        )

    async def sweepable(self, before: int) -> tuple[Candidate, ...]:
        bindings: Bindings = {"tenant": self._tenant, "before": before}
        return tuple(_read_candidate(row) for row in await self._all("sweepable", bindings))

    async def found_again(self, one: Candidate) -> bool:
        bindings: Bindings = {"tenant": self._tenant, "before": one.updated + 1}
        bindings |= {"key": key_text(one.key), "updated": one.updated}
        row = await self._row(filtered(self.sql, "sweepable", ["where_as_found"]), bindings)
        return row is not None and _read_candidate(row) == one

    async def session_bytes(self, key: SessionKey) -> int:
        return await self._figure("session_bytes", {"tenant": self._tenant, "key": key_text(key)})

    async def stale_generations(self, before: int, timers: int) -> tuple[str, ...]:
        moments: Bindings = {"before": before, "timers": timers}
        return tuple(str(row[0]) for row in await self._all("stale_generations", moments))

    async def is_continued(self, session_id: str) -> bool:
        return bool(await self._figure("is_continued", (session_id,)))

    async def delete_generation(self, session_id: str) -> None:
        await self._do("delete_generation", (session_id,))

    async def stale_feeds(self, before: int) -> tuple[SessionKey, ...]:
        return tuple(stored_key(row[0]) for row in await self._all("stale_feeds", (before,)))

    async def count_stale_events(self, key: SessionKey, before: int) -> int:
        return await self._figure(
            "count_stale_events", {"tenant": self._tenant, "key": key_text(key), "before": before}
        )

    async def delete_stale_events(self, key: SessionKey, before: int) -> None:
        await self._do(
            "delete_stale_events", {"tenant": self._tenant, "key": key_text(key), "before": before}
        )

    async def count_stale_inbound(self, before: int) -> int:
        return await self._figure("count_stale_inbound", {"before": before})

    async def delete_stale_inbound(self, before: int, limit: int) -> int:
        return await self._do("delete_stale_inbound", {"before": before, "limit": limit})

    async def count_stale_records(self, record: Record, before: int) -> int:
        return await self._figure(f"count_stale_{record}", {"tenant": self._tenant, "before": before})

    async def delete_stale_records(self, record: Record, before: int, limit: int) -> int:
        bindings: Bindings = {"tenant": self._tenant, "before": before, "limit": limit}
        return await self._do(f"delete_stale_{record}", bindings)


@sound
def _read_candidate(row: Any) -> Candidate:
    key, sort, updated, archived, bound, needed = row
    return Candidate(
        key=stored_key(key),
        sort=Sort(sort),
        updated=updated,
        archived=bool(archived),
        bound=bool(bound),
        needed=bool(needed),
    )
