"""Messages on their way to a channel."""

from collections.abc import Collection
from dataclasses import replace
from typing import assert_never

from roost.core.addresses import Account
from roost.core.deliveries import (
    Confirmed,
    Delivery,
    DeliveryState,
    Postponed,
    Rejected,
    SendResult,
    Unknown,
)
from roost.core.errors import Conflict, Fenced, NotFound
from roost.core.events import EventKind
from roost.core.fleet import elsewhere
from roost.core.leases import Lease
from roost.core.ledger import Denial
from roost.core.queries import refuse_limit
from roost.core.runs import Claim
from roost.core.sendpolicy import Judge, Verdict, anything
from roost.core.undelivered import is_lost, told_of_failure
from roost.core.visibility import EVERYTHING, VisibleScope
from roost.stores.applying import apply
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs, hold, hold_alone, unheard

MOST_SENDING = 10_000


class OutboxVerbs(Verbs):
    async def delivery(self, delivery_id: str) -> Delivery | None:
        return await self._look(lambda tables: tables.delivery(delivery_id))

    async def deliveries(
        self, state: DeliveryState, limit: int, scope: VisibleScope = EVERYTHING
    ) -> tuple[Delivery, ...]:
        refuse_limit(limit)
        return await self._look(lambda tables: tables.deliveries(state, limit, scope))

    async def claim_deliveries(
        self, lease: Lease, limit: int, *, judge: Judge = anything, without: frozenset[Account] = frozenset()
    ) -> tuple[Delivery, ...]:
        refuse_limit(limit)

        async def verb(unit: Unit) -> tuple[Delivery, ...]:
            now = await hold(unit, lease)
            passed = without
            if not self.exclusive:
                passed |= elsewhere(await unit.tables.hostings(), lease, now)
            taken = []
            for delivery in await unit.tables.due_deliveries(unit.now, limit, passed):
                verdict = judge(await unit.existing(delivery.key), delivery)
                if verdict.allowed:
                    taken.append(await _take(unit, delivery, lease))
                else:
                    await _dismiss(unit, delivery, verdict)
            return tuple(taken)

        return await self._write(verb)

    async def unclaim_deliveries(self, lease: Lease, known: Collection[Claim]) -> tuple[Delivery, ...]:
        async def verb(unit: Unit) -> tuple[Delivery, ...]:
            await hold_alone(unit, lease)
            sending = await unit.tables.deliveries(DeliveryState.SENDING, limit=MOST_SENDING)
            found = [delivery for delivery in sending if unheard(delivery.claim, lease, known)]
            return tuple([again for delivery in found if (again := await _untake(unit, delivery))])

        return await self._write(verb)

    async def settle_delivery(self, claim: Claim, result: SendResult) -> Delivery:
        async def verb(unit: Unit) -> Delivery:
            delivery = await unit.known_delivery(claim.id)
            if delivery is None or delivery.claim != claim or not await unit.holds(claim):
                raise Fenced(
                    f"delivery {claim.id} is no longer held by {claim.gateway}",
                    hint="what the channel took is reconciled by its new holder",
                )
            return await _write_down(unit, delivery, replace(_after(delivery, result), claim=None))

        return await self._write(verb)

    async def reap_deliveries(self, lease: Lease) -> tuple[Delivery, ...]:
        async def verb(unit: Unit) -> tuple[Delivery, ...]:
            await hold(unit, lease)
            reaped = []
            for delivery in await unit.tables.deliveries(DeliveryState.SENDING, limit=MOST_SENDING):
                if await _adrift(unit, delivery):
                    known = await unit.known_delivery(delivery.id)
                    if known is not None and await _adrift(unit, known):
                        reaped.append(await _write_down(unit, known, _uncertain(known)))
            return tuple(reaped)

        return await self._write(verb)

    async def resolve_delivery(self, seen: Delivery, state: DeliveryState, at: int) -> Delivery:
        async def verb(unit: Unit) -> Delivery:
            delivery = await unit.known_delivery(seen.id)
            if delivery is None:
                raise NotFound(f"no delivery {seen.id}")
            if not delivery.state.may_become(state):
                raise Conflict(
                    f"delivery {seen.id} is {delivery.state}, and cannot be decided to be {state}",
                    hint="decide on one that failed or is uncertain, or send again one that was dismissed",
                )
            if delivery.fence != seen.fence:
                raise Conflict(
                    f"delivery {seen.id} was sent again meanwhile",
                    hint="look at it again before resolving it",
                )
            return await _write_down(unit, delivery, replace(delivery, state=state, ready_at=at))

        return await self._write(verb)


async def _adrift(unit: Unit, delivery: Delivery) -> bool:
    """Whether whoever was sending it is gone."""
    return delivery.claim is not None and not await unit.holds(delivery.claim)


def _uncertain(delivery: Delivery) -> Delivery:
    # That a gateway ended is no failure of the channel, and makes nobody wait longer.
    return replace(
        delivery,
        state=DeliveryState.UNCERTAIN,
        attempts=delivery.attempts - 1,
        claim=None,
        fence=delivery.fence + 1,
        error="the gateway stopped while sending",
    )


async def _take(unit: Unit, delivery: Delivery, lease: Lease) -> Delivery:
    fence = delivery.fence + 1
    claim = Claim(id=delivery.id, gateway=lease.gateway.name, epoch=lease.epoch, fence=fence)
    taken = replace(
        delivery,
        state=DeliveryState.SENDING,
        attempts=delivery.attempts + 1,
        fence=fence,
        claim=claim,
    )
    # No news to those who look for work: there is less of it now.
    return await _put(unit, taken)


async def _untake(unit: Unit, delivery: Delivery) -> Delivery | None:
    known = await unit.known_delivery(delivery.id)
    if known is None or known.claim != delivery.claim:
        return None
    untried = replace(
        known,
        state=DeliveryState.INTENT,
        attempts=known.attempts - 1,
        fence=known.fence + 1,
        claim=None,
    )
    return await _write_down(unit, known, untried)


async def _dismiss(unit: Unit, delivery: Delivery, verdict: Verdict) -> None:
    session = await unit.existing(delivery.key)
    run = await unit.tables.run(delivery.run_id) if delivery.run_id else None
    denial = Denial(
        at=unit.now,
        operation="send",
        principal=run.cause.principal if run else session.owner,
        rule=verdict.rule,
        reason=f"the {delivery.kind} was not sent",
        caller=delivery.key,
        target=delivery.run_id or delivery.id,
    )
    await unit.tables.insert_denial(denial)
    error = f"not sent, because of {verdict.rule}"
    await _write_down(unit, delivery, replace(delivery, state=DeliveryState.DISMISSED, error=error))


async def _write_down(unit: Unit, was: Delivery, now: Delivery) -> Delivery:
    written = await _put(unit, now)
    if is_lost(was, written):
        beside = VisibleScope(self_key=written.key)
        failed = await unit.tables.deliveries(DeliveryState.FAILED, MOST_SENDING, beside)
        said_by = await unit.tables.run(written.run_id) if written.run_id else None
        owner = (await unit.existing(written.key)).owner
        await apply(unit, told_of_failure(written, failed, said_by, owner, unit.now))
    if written.state.settled and written.state is not was.state:
        unit.waking.delivery_ended(written.state)
    await unit.waking.delivery_left()
    unit.eased(written.key)
    return written


async def _put(unit: Unit, delivery: Delivery) -> Delivery:
    await unit.existing(delivery.key)
    # What a platform answers may quote what it was asked with.
    delivery = unit.sealed(delivery)
    await unit.tables.update_delivery(delivery)
    unit.emit(delivery.key, EventKind.DELIVERY, delivery.id)
    return delivery


def _after(delivery: Delivery, result: SendResult) -> Delivery:
    match result:
        case Confirmed():
            return replace(delivery, state=DeliveryState.CONFIRMED, receipt=result.receipt, error=None)
        case Postponed():
            return replace(delivery, state=DeliveryState.INTENT, ready_at=result.ready_at, error=result.error)
        case Rejected():
            return replace(delivery, state=DeliveryState.FAILED, error=result.error)
        case Unknown():
            return replace(delivery, state=DeliveryState.UNCERTAIN, error=result.error)
        case _:
            assert_never(result)
