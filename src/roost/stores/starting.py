"""How a run starts: with others that were chosen, or in the transaction that queues it."""

from dataclasses import replace
from functools import partial

from roost.core.errors import StoreCorrupt
from roost.core.events import EventKind
from roost.core.leases import Lease
from roost.core.runs import Claim, Run, RunState
from roost.core.sessions import SessionStatus
from roost.core.turntaking import Backlog
from roost.ports import Starter
from roost.stores.unit import Start, Unit


async def start(unit: Unit, run: Run, lease: Lease) -> Run:
    session = await unit.existing(run.key)
    claim = _claim(run, lease)
    started = replace(
        run,
        state=RunState.RUNNING,
        started_at=run.started_at or unit.now,
        # One that begins again goes on where it began: if that was reset meanwhile, its writes are refused.
        session_id=run.session_id or session.session_id,
        fence=claim.fence,
        claim=claim,
    )
    await unit.tables.update_run(started)
    await unit.set_status(run.key, SessionStatus.RUNNING)
    unit.emit(run.key, EventKind.RUN_STARTED, run.id)
    return started


def starts(starter: Starter | None) -> Start | None:
    """What starts a run for somebody, with the transaction that queues it."""
    return None if starter is None else partial(_start_at_once, starter)


async def _start_at_once(starter: Starter, unit: Unit) -> Run | None:
    """Start the run that this transaction queued, if no other one waits anywhere and it is chosen."""
    try:
        run = await _first_in_line(unit, starter)
    except StoreCorrupt:
        # Who claims runs is told so; what was said is kept.
        return None
    if run is None:
        return None
    unit.waking.nothing_due()
    return await start(unit, run, starter.lease)


async def _first_in_line(unit: Unit, starter: Starter) -> Run | None:
    if (run_id := unit.queued_alone) is None or await unit.tables.queued_runs(2) != (run_id,):
        return None
    run, running = await unit.tables.run(run_id), await unit.tables.running_runs()
    if run is None or run.ready_at > unit.now or any(one.key == run.key for one in running):
        return None
    chosen = starter.choose(Backlog(ready=(run,), running=running))
    return run if chosen and await unit.holds(_claim(run, starter.lease)) else None


def _claim(run: Run, lease: Lease) -> Claim:
    return Claim(id=run.id, gateway=lease.gateway.name, epoch=lease.epoch, fence=run.fence + 1)
