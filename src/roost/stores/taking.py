"""What a run takes of the messages that wait in its session: each becomes an entry, or a part of one."""

from dataclasses import replace

from roost.core.entries import Entry
from roost.core.errors import InvalidInput
from roost.core.events import EventKind
from roost.core.exchanges import ExchangeState
from roost.core.inbound import InboundState, InputMode
from roost.core.runs import Run
from roost.ports import Render
from roost.stores.unit import Unit


async def take(unit: Unit, run: Run, render: Render) -> tuple[Entry, ...]:
    """The entries that a run's messages make, in order of arrival; () where it has none."""
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
