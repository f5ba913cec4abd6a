"""A session and all below it that has work, as one decision sees them."""

from roost.core.exchanges import CompletionStatus
from roost.core.keys import CHILD_KINDS, SessionKey
from roost.core.snapshots import RunSnapshot
from roost.core.spawning import run_of
from roost.core.trees import Tree
from roost.stores.seeing import seen_run
from roost.stores.unit import Unit


async def tree_of(unit: Unit, key: SessionKey) -> Tree:
    session = await unit.snapshot(key)
    below = tuple([await unit.snapshot(one) for one in await unit.tables.working_below(key)])
    active = [run for one in (session, *below) for run in (one.running, *one.queued) if run is not None]
    owed = {child.batch for one in (session, *below) for child in one.children}
    batches = [run for one in sorted(owed) if (run := await unit.tables.run(one)) is not None]
    waiting = [run for run in batches if run.outcome and run.outcome.yielded and run.request.exchange_id]
    return Tree(
        session=session,
        below=below,
        runs=tuple([await seen_run(unit, run) for run in active]),
        batches=tuple(run for run in batches if run.key == key),
        asked=tuple([await seen_run(unit, run) for run in waiting]),
        task=await _task(unit, key),
    )


async def _task(unit: Unit, key: SessionKey) -> RunSnapshot | None:
    run = await unit.tables.run(run_of(key)) if key.kind in CHILD_KINDS else None
    found = None if run is None else await seen_run(unit, run)
    owed = found.completion if found else None
    return found if owed and owed.status is CompletionStatus.PENDING else None
