"""What happened, what it cost, what was refused."""

from roost.core.effects import RecordUsage
from roost.core.events import Event
from roost.core.keys import SessionKey
from roost.core.ledger import Dearest, Denial, LedgerRow, LedgerTotal, Spent
from roost.core.numbers import refuse_oversized
from roost.core.queries import EVERY_DENIAL, UTC_DAYS, Calendar, DenialQuery, LedgerQuery, refuse_limit
from roost.stores.applying import apply
from roost.stores.verbs.base import Verbs


class FactVerbs(Verbs):
    async def record_usage(self, row: LedgerRow) -> None:
        await self._write(lambda unit: apply(unit, (RecordUsage(row=row),)))

    async def usage(self, query: LedgerQuery) -> LedgerTotal:
        return await self._look(lambda tables: tables.usage(query))

    async def spending(self, query: LedgerQuery, calendar: Calendar = UTC_DAYS) -> tuple[Spent, ...]:
        found = await self._read(lambda tables: tables.spending(query, calendar))
        return tuple(sorted(found, key=lambda one: (one.day, one.agent, one.provider, one.model)))

    async def dearest(self, query: LedgerQuery, limit: int) -> Dearest:
        refuse_limit(limit)
        return await self._read(lambda tables: tables.dearest(query, limit))

    async def ledger(self, query: LedgerQuery, *, offset: int, limit: int) -> tuple[LedgerRow, ...]:
        refuse_limit(limit, offset)
        return await self._read(lambda tables: tables.ledger(query, offset, limit))

    async def record_denial(self, denial: Denial) -> None:
        await self._write(lambda unit: unit.tables.insert_denial(unit.sealed(denial)))

    async def denials(self, limit: int, query: DenialQuery = EVERY_DENIAL) -> tuple[Denial, ...]:
        refuse_limit(limit)
        return await self._look(lambda tables: tables.denials(limit, query))

    async def events(self, key: SessionKey, *, after: int, limit: int) -> tuple[Event, ...]:
        refuse_limit(limit)
        refuse_oversized(after)
        return await self._look(lambda tables: tables.events(key, after, limit))
