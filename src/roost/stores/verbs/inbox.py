"""Messages on their way into a transcript."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from roost.core.effects import Effects
from roost.core.entries import Entry
from roost.core.errors import InvalidInput
from roost.core.events import EventKind
from roost.core.exchanges import ExchangeState
from roost.core.facts import takes_part
from roost.core.inbound import Inbound, InboundRecord, InboundState, InputMode, refuse_other
from roost.core.inputs import acting
from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.runs import Claim, Run, Step, StepKind
from roost.core.snapshots import Decide
from roost.core.trees import DecideTree
from roost.ports import Accepted, Begin, Render
from roost.stores.applying import apply
from roost.stores.families import tree_of
from roost.stores.steps import begin_step
from roost.stores.unit import Unit, going_on
from roost.stores.verbs.base import Verbs


class InboxVerbs(Verbs):
    async def accept_inbound(self, inbound: Inbound, decide: Decide) -> Accepted:
        async def effects(unit: Unit) -> Effects:
            return decide(await unit.snapshot(inbound.key))

        return await self._write(partial(_accept, inbound=inbound, effects=effects))

    async def accept_command(self, inbound: Inbound, decide: DecideTree) -> Accepted:
        async def effects(unit: Unit) -> Effects:
            return decide(await tree_of(unit, inbound.key))

        return await self._write(partial(_accept, inbound=inbound, effects=effects))

    async def inbound(self, inbound_id: str) -> InboundRecord | None:
        return await self._look(lambda tables: tables.inbound(inbound_id))

    async def inbound_by_key(
        self, principal: Principal, key: SessionKey | None, idempotency_key: str
    ) -> InboundRecord | None:
        return await self._look(lambda tables: tables.inbound_by_key(principal, key, idempotency_key))

    async def pending_inputs(self, key: SessionKey) -> tuple[InboundRecord, ...]:
        return await self._look(lambda tables: tables.pending_inputs(key))

    async def take_inputs(
        self, claim: Claim, render: Render, begin: Begin | None = None
    ) -> tuple[Entry, ...]:
        async def verb(unit: Unit) -> tuple[Entry, ...]:
            claimed = going_on(await unit.writing_run(claim))
            entries = await _take(unit, claimed, render)
            run = acting(claimed, entries)
            if run != claimed:
                await unit.tables.update_run(run)
            if begin is not None and (call := begin(entries)) is not None:
                await begin_step(unit, run, Step(kind=StepKind.MODEL, at=call.at), call)
            return entries

        return await self._write(verb)


async def _take(unit: Unit, run: Run, render: Render) -> tuple[Entry, ...]:
    pending = await unit.tables.pending_inputs(run.key)
    inputs = tuple(record for record in pending if record.run_id == run.id)
    if not inputs:
        return ()
    if any(record.mode is InputMode.OPEN for record in inputs):
        inputs += tuple(record for record in pending if record.mode is InputMode.WAIT)
    merged = await unit.tables.merged_inputs([record.inbound.id for record in inputs])
    drafts = unit.sealed(render(merged + inputs))
    if not drafts:
        raise InvalidInput(f"run {run.id} would take {len(inputs)} messages and keep no word of them")
    entries = await unit.append(run.key, drafts)
    for record in inputs:
        await unit.tables.update_inbound(replace(record, state=InboundState.TAKEN))
    await unit.message_came_to(run, ExchangeState.DELIVERED)
    unit.emit(run.key, EventKind.INPUT_TAKEN, *(record.inbound.id for record in inputs))
    unit.emit(run.key, EventKind.ENTRY, *(entry.id for entry in entries))
    return entries


async def _accept(unit: Unit, *, inbound: Inbound, effects: Callable[[Unit], Awaitable[Effects]]) -> Accepted:
    await unit.session(inbound.key)
    given = unit.sealed(inbound)
    known = await unit.tables.same_inbound(given)
    if known is not None:
        refuse_other(known.inbound.source.digest, given.source.digest)
        return Accepted(record=known, duplicate=True)
    await apply(unit, await effects(unit))
    record = await unit.tables.inbound(inbound.id)
    if record is None:
        raise InvalidInput(
            f"the decision on message {inbound.id} neither kept nor refused it",
            hint="accept it as an input, answer it, or record it dead with a notice",
        )
    session = await unit.session(inbound.key)
    if session is not None and takes_part(session, inbound):
        await unit.tables.put_participant(inbound.key, inbound.principal)
    return Accepted(record=record, duplicate=False)
