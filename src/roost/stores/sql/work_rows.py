"""Inbound messages, runs, exchanges, completions, bindings and deliveries in SQL.

Each row holds its whole value; the columns written beside it are what the statements look for.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from roost.core.addresses import DEFAULT_ACCOUNT, Account, Address
from roost.core.deliveries import Delivery, DeliveryState
from roost.core.exchanges import Completion, CompletionStatus, Exchange, Spawned
from roost.core.inbound import Inbound, InboundRecord
from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.runs import Run
from roost.core.threads import ThreadBinding
from roost.core.turntaking import asker
from roost.core.visibility import EVERYTHING, VisibleScope
from roost.stores.codec import decode_shared, encode, key_text, parse_key, sound, to_text
from roost.stores.sql.rows import Bindings, Row, Rows, filtered, inbound_update, listed, scope_conditions


class WorkRows(Rows):
    # -- inbound -------------------------------------------------------------------------------------

    async def same_inbound(self, inbound: Inbound) -> InboundRecord | None:
        source = inbound.source
        if source.external_id is not None:
            bindings = (self._tenant, source.channel, source.account, source.external_id)
            known: InboundRecord | None = await self._body("inbound_by_external_id", bindings, InboundRecord)
            if known is not None:
                return known
        if source.idempotency_key is None:
            return None
        return await self.inbound_by_key(inbound.principal, inbound.key, source.idempotency_key)

    async def inbound(self, inbound_id: str) -> InboundRecord | None:
        return await self._body("inbound", (inbound_id,), InboundRecord)  # type: ignore[no-any-return]

    async def inbound_by_key(
        self, principal: Principal, key: SessionKey | None, idempotency_key: str
    ) -> InboundRecord | None:
        if key is None:
            asked = (self._tenant, str(principal), idempotency_key)
            return await self._body("newest_inbound_by_idempotency_key", asked, InboundRecord)  # type: ignore[no-any-return]
        bindings = (self._tenant, str(principal), key_text(key), idempotency_key)
        return await self._body("inbound_by_idempotency_key", bindings, InboundRecord)  # type: ignore[no-any-return]

    async def pending_inputs(self, key: SessionKey) -> tuple[InboundRecord, ...]:
        return await self._bodies("pending_inputs", (key_text(key),), InboundRecord)

    async def merged_inputs(self, into: Sequence[str]) -> tuple[InboundRecord, ...]:
        ids = encode(tuple(into), tuple[str, ...])
        return await self._bodies("merged_inputs", (ids,), InboundRecord)

    async def insert_inbound(self, record: InboundRecord) -> None:
        inbound, source = record.inbound, record.inbound.source
        values = (
            inbound.id,
            key_text(inbound.key),
            str(inbound.principal),
            source.channel,
            source.account,
            source.external_id,
            source.idempotency_key,
            inbound.received_at,
            record.state,
            record.run_id,
            record.merged_into,
            record.reason,
            encode(record),
            self._tenant,
        )
        await self._insert_new("insert_inbound", values, f"message id {inbound.id}")

    async def update_inbound(self, record: InboundRecord) -> None:
        await self._do("update_inbound", inbound_update(record))

    # -- runs ----------------------------------------------------------------------------------------

    async def run(self, run_id: str) -> Run | None:
        return await self._body("run", (run_id,), Run)  # type: ignore[no-any-return]

    async def queued_runs(self, limit: int) -> tuple[str, ...]:
        return tuple([row[0] for row in await self._all("queued_runs", (limit,))])

    async def active_runs(self, key: SessionKey) -> tuple[Run, ...]:
        return await self._bodies("active_runs", (key_text(key),), Run)

    async def ready_runs(self, now: int, per_asker: int, limit: int) -> tuple[Run, ...]:
        return await self._bodies("ready_runs", (now, now, per_asker, limit), Run)

    async def still_ready(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        return tuple(runs)

    async def running_runs(self) -> tuple[Run, ...]:
        return await self._bodies("running_runs", (), Run)

    async def parked_runs(self) -> tuple[Run, ...]:
        found: tuple[Run, ...] = await self._bodies("parked_runs", (), Run)
        return tuple(run for run in found if run.parked is not None)

    async def overdue_runs(self, now: int, limit: int) -> tuple[Run, ...]:
        return await self._bodies("overdue_runs", (now, limit), Run)

    async def insert_run(self, run: Run) -> None:
        values = (
            run.id,
            key_text(run.key),
            str(run.cause.principal),
            asker(run),
            run.request.lane,
            run.state,
            run.ready_at,
            encode(run),
            self._tenant,
        )
        await self._insert_new("insert_run", values, f"run id {run.id}")

    async def update_run(self, run: Run) -> None:
        until = run.outcome.until if run.outcome else None
        who, aside = str(run.cause.principal), int(run.aside)
        await self._do("update_run", (who, run.state, run.ready_at, aside, until, encode(run), run.id))

    # -- exchanges, completions, bindings ------------------------------------------------------------

    async def exchange(self, exchange_id: str) -> Exchange | None:
        return await self._body("exchange", (exchange_id,), Exchange)  # type: ignore[no-any-return]

    async def exchanges(self, requester: SessionKey, target: SessionKey) -> tuple[Exchange, ...]:
        return await self._bodies("exchanges", (key_text(requester), key_text(target)), Exchange)

    async def exchanges_of(self, key: SessionKey, limit: int) -> tuple[Exchange, ...]:
        return await self._bodies("exchanges_of", (key_text(key), key_text(key), limit), Exchange)

    async def remote_exchanges(self, limit: int, but_to: Collection[str]) -> tuple[Exchange, ...]:
        return await self._bodies("remote_exchanges", (self._tenant, listed(but_to), limit), Exchange)

    async def put_exchange(self, exchange: Exchange) -> None:
        requester, target = key_text(exchange.requester), key_text(exchange.target)
        values = (exchange.id, requester, target, encode(exchange), self._tenant)
        await self._do("put_exchange", values)

    async def completion(self, child_run: str) -> Completion | None:
        return await self._body("completion", (child_run,), Completion)  # type: ignore[no-any-return]

    async def owed(self, requester: SessionKey) -> tuple[Completion, ...]:
        return await self._bodies("owed", (key_text(requester),), Completion)

    async def spawned(self, requester: SessionKey) -> tuple[Spawned, ...]:
        rows = await self._all("spawned", (key_text(requester),))
        return tuple([_read_spawned(row) for row in rows])

    async def batch(self, requester: SessionKey, batch: str) -> tuple[Completion, ...]:
        return await self._bodies("batch", (key_text(requester), batch), Completion)

    async def insert_completion(self, completion: Completion) -> None:
        values = (
            completion.child_run,
            key_text(completion.child),
            key_text(completion.requester),
            completion.batch,
            completion.acknowledged_at,
            encode(completion),
            self._tenant,
        )
        await self._insert_new(
            "insert_completion", values, f"the answer owed for child run {completion.child_run}"
        )

    async def update_completion(self, completion: Completion) -> None:
        values = (completion.acknowledged_at, encode(completion), completion.child_run)
        await self._do("update_completion", values)

    async def binding(self, address: Address) -> ThreadBinding | None:
        return await self._body("binding", (_place(address),), ThreadBinding)  # type: ignore[no-any-return]

    async def put_binding(self, binding: ThreadBinding) -> None:
        values = (_place(binding.address), key_text(binding.key), encode(binding), self._tenant)
        await self._do("put_binding", values)

    async def delete_binding(self, address: Address) -> None:
        await self._do("delete_binding", (_place(address),))

    # -- deliveries ----------------------------------------------------------------------------------

    async def delivery(self, delivery_id: str) -> Delivery | None:
        return await self._body("delivery", (delivery_id,), Delivery)  # type: ignore[no-any-return]

    async def deliveries(
        self, state: DeliveryState, limit: int, scope: VisibleScope = EVERYTHING
    ) -> tuple[Delivery, ...]:
        bindings: Bindings = {"tenant": self._tenant, "state": state, "limit": limit}
        conditions = scope_conditions(scope, bindings)
        statement = "deliveries_of" if conditions else "deliveries"
        rows = await self._rows(filtered(self.sql, statement, conditions), bindings)
        return tuple([decode_shared(Delivery, row[0]) for row in rows])

    async def deliveries_wait(self) -> bool:
        return await self._one("deliveries_wait") is not None

    async def due_deliveries(self, now: int, limit: int, without: frozenset[Account]) -> tuple[Delivery, ...]:
        accounts = to_text([list(account) for account in without])
        return await self._bodies("due_deliveries", (now, accounts, DEFAULT_ACCOUNT, limit), Delivery)

    async def insert_delivery(self, delivery: Delivery, owner: Principal) -> None:
        values = (
            delivery.id,
            key_text(delivery.key),
            str(owner),
            _place(delivery.address),
            delivery.state,
            delivery.ready_at,
            encode(delivery),
            self._tenant,
        )
        await self._insert_new("insert_delivery", values, f"delivery id {delivery.id}")

    async def update_delivery(self, delivery: Delivery) -> None:
        values = (delivery.state, delivery.ready_at, encode(delivery), delivery.id)
        await self._do("update_delivery", values)


def _place(address: Address) -> str:
    """What an address is found by: the same text for the same place."""
    return encode(replace(address, person=None, chat_type=None))


@sound
def _read_spawned(row: Row) -> Spawned:
    run, child, status = map(str, row)
    return Spawned(child_run=run, child=parse_key(child), status=CompletionStatus(status))
