"""What happened, what it cost, what was refused; and what is kept of it."""

from roost.core.effects import DeleteSession
from roost.core.events import Event
from roost.core.keys import SessionKey
from roost.core.ledger import Denial, LedgerRow, LedgerTotal
from roost.core.queries import Cutoffs, LedgerQuery, Swept
from roost.stores.applying import apply
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs


class FactVerbs(Verbs):
    async def record_usage(self, row: LedgerRow) -> None:
        await self._write(lambda unit: unit.tables.put_usage(row))

    async def usage(self, query: LedgerQuery) -> LedgerTotal:
        return await self._read(lambda tables: tables.usage(query))

    async def record_denial(self, denial: Denial) -> None:
        await self._write(lambda unit: unit.tables.insert_denial(denial))

    async def denials(self, limit: int) -> tuple[Denial, ...]:
        return await self._read(lambda tables: tables.denials(limit))

    async def events(self, key: SessionKey, *, after: int, limit: int) -> tuple[Event, ...]:
        return await self._read(lambda tables: tables.events(key, after, limit))

    async def sweep(self, cutoffs: Cutoffs, *, dry_run: bool = False) -> Swept:
        async def verb(unit: Unit) -> Swept:
            keys = await unit.tables.expired_sessions(cutoffs)
            events, inbound = await unit.tables.count_expired(cutoffs)
            if not dry_run:
                await apply(unit, tuple(DeleteSession(key=key) for key in keys))
                await unit.tables.delete_expired(cutoffs)
            return Swept(sessions=keys, events=events, inbound=inbound)

        return await self._write(verb)
