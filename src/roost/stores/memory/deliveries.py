"""Messages on their way out, in memory."""

from itertools import islice

from roost.core.addresses import Account
from roost.core.deliveries import Delivery, DeliveryState
from roost.core.errors import Conflict
from roost.core.keys import SessionKey
from roost.core.numbers import refuse_oversized
from roost.core.principals import Principal
from roost.core.visibility import EVERYTHING, VisibleScope
from roost.stores.memory.filters import in_scope
from roost.stores.memory.state import State


class DeliveryTables(State):
    async def delivery(self, delivery_id: str) -> Delivery | None:
        return self._deliveries.get(delivery_id)

    async def deliveries(
        self, state: DeliveryState, limit: int, scope: VisibleScope = EVERYTHING
    ) -> tuple[Delivery, ...]:
        found = (row for row in self._deliveries if row.state is state and self._shows(row.key, scope))
        return tuple(islice(found, limit))

    async def deliveries_wait(self) -> bool:
        return any(delivery.state is DeliveryState.INTENT for delivery in self._deliveries)

    async def due_deliveries(self, now: int, limit: int, without: frozenset[Account]) -> tuple[Delivery, ...]:
        busy = {row.address for row in self._deliveries if row.state is DeliveryState.SENDING}
        due = []
        for row in self._deliveries:
            if row.state is not DeliveryState.INTENT or row.address in busy:
                continue
            busy.add(row.address)
            if row.ready_at <= now and row.address.served_by not in without:
                due.append(row)
        return tuple(due[:limit])

    async def insert_delivery(self, delivery: Delivery, owner: Principal) -> None:
        if delivery.id in self._deliveries:
            raise Conflict(f"delivery id {delivery.id} is taken")
        refuse_oversized(delivery.ready_at)
        self._deliveries.put(delivery.id, delivery)

    async def update_delivery(self, delivery: Delivery) -> None:
        refuse_oversized(delivery.ready_at)
        self._deliveries.put(delivery.id, delivery)

    def _shows(self, key: SessionKey, scope: VisibleScope) -> bool:
        session = self._sessions.get(key)
        return session is not None and in_scope(session, self._lineage.get(key) or (), scope)
