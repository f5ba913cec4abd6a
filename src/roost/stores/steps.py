"""What a run is about to do, written down before it does it."""

from dataclasses import replace

from roost.core.budgets import Reservation
from roost.core.exchanges import ExchangeState
from roost.core.ledger import LedgerRow
from roost.core.runs import Run, Step, StepKind
from roost.stores.unit import Unit


async def begin_step(unit: Unit, run: Run, step: Step, call: LedgerRow | None) -> None:
    if call is not None and await unit.tables.reservation(call.id) is None:
        await unit.tables.insert_reservation(Reservation(row=call, holds=()))
    calls = run.progress.model_calls + (step.kind is StepKind.MODEL)
    progress = replace(run.progress, step=step, model_calls=calls)
    await unit.tables.update_run(replace(run, progress=progress))
    if step.kind is StepKind.MODEL:
        await unit.message_came_to(run, ExchangeState.RUNNING)
    if step.waits:
        unit.waking.run_due()
