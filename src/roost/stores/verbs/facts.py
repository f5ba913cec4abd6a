"""What happened, what it cost, what was refused; and what is kept of it."""

from dataclasses import dataclass, replace
from functools import partial

from roost.core.effects import DeleteSession
from roost.core.events import Event
from roost.core.keys import SessionKey
from roost.core.ledger import Denial, LedgerRow, LedgerTotal
from roost.core.queries import Cutoffs, LedgerQuery, Swept
from roost.stores.applying import apply
from roost.stores.names import moment
from roost.stores.settling import settle
from roost.stores.tables import Tables
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs

STEP = 50
ALL = 2**62


class FactVerbs(Verbs):
    async def record_usage(self, row: LedgerRow) -> None:
        async def verb(unit: Unit) -> None:
            await unit.tables.put_usage(row)
            await settle(unit.tables, row)

        await self._write(verb)

    async def usage(self, query: LedgerQuery) -> LedgerTotal:
        return await self._read(lambda tables: tables.usage(query))

    async def record_denial(self, denial: Denial) -> None:
        await self._write(lambda unit: unit.tables.insert_denial(denial))

    async def denials(self, limit: int) -> tuple[Denial, ...]:
        return await self._read(lambda tables: tables.denials(limit))

    async def events(self, key: SessionKey, *, after: int, limit: int) -> tuple[Event, ...]:
        return await self._read(lambda tables: tables.events(key, after, limit))

    async def sweep(self, cutoffs: Cutoffs, *, dry_run: bool = False) -> Swept:
        """In steps, each its own transaction: a lease must be renewed meanwhile, and others want to write."""
        found = await self._read(lambda tables: _past_their_time(tables, cutoffs))
        if dry_run:
            return found.swept
        for key in found.feeds:
            await self._write(partial(_trim_feed, key=key, before=moment(cutoffs.events_before)))
        before = moment(cutoffs.dedupe_before)
        while await self._write(lambda unit: unit.tables.delete_stale_inbound(before, STEP)) == STEP:
            pass
        deleted: list[SessionKey] = []
        while step := await self._write(partial(_delete_step, cutoffs=cutoffs)):
            deleted.extend(step)
        return replace(found.swept, sessions=tuple(sorted(deleted, key=str)))


@dataclass(frozen=True, slots=True)
class _Found:
    swept: Swept
    feeds: tuple[SessionKey, ...]


async def _past_their_time(tables: Tables, cutoffs: Cutoffs) -> _Found:
    before = moment(cutoffs.events_before)
    feeds = await tables.stale_feeds(before)
    swept = Swept(
        sessions=await tables.expired_sessions(cutoffs, ALL),
        events=sum([await tables.count_stale_events(key, before) for key in feeds]),
        inbound=await tables.count_stale_inbound(moment(cutoffs.dedupe_before)),
    )
    return _Found(swept, feeds)


async def _trim_feed(unit: Unit, *, key: SessionKey, before: int) -> None:
    await unit.tables.delete_stale_events(key, before)


async def _delete_step(unit: Unit, *, cutoffs: Cutoffs) -> tuple[SessionKey, ...]:
    keys = await unit.tables.expired_sessions(cutoffs, STEP)
    await apply(unit, tuple(DeleteSession(key=key) for key in keys))
    return keys
