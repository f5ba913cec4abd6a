"""What happened, what it cost, what was refused."""

from roost.core.effects import RecordUsage
from roost.core.events import Event
from roost.core.keys import SessionKey
from roost.core.ledger import Denial, LedgerRow, LedgerTotal
from roost.core.queries import LedgerQuery
from roost.stores.applying import apply
from roost.stores.verbs.base import Verbs


class FactVerbs(Verbs):
    async def record_usage(self, row: LedgerRow) -> None:
        await self._write(lambda unit: apply(unit, (RecordUsage(row=row),)))

    async def usage(self, query: LedgerQuery) -> LedgerTotal:
        return await self._look(lambda tables: tables.usage(query))

    async def record_denial(self, denial: Denial) -> None:
        await self._write(lambda unit: unit.tables.insert_denial(denial))

    async def denials(self, limit: int) -> tuple[Denial, ...]:
        return await self._look(lambda tables: tables.denials(limit))

    async def events(self, key: SessionKey, *, after: int, limit: int) -> tuple[Event, ...]:
        return await self._look(lambda tables: tables.events(key, after, limit))
