"""The means of model calls: held before, let go after, waited for when there are none."""

from dataclasses import replace
from functools import partial
from typing import assert_never

from roost.core.effects import RequeueRun
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.parking import Forgone, Granted, Rule, Ruling, Waits
from roost.core.runs import Claim, Run, RunState
from roost.core.turntaking import standing
from roost.stores.applying import apply
from roost.stores.settling import release
from roost.stores.unit import Unit, going_on
from roost.stores.verbs.base import Verbs, hold


class BudgetVerbs(Verbs):
    async def reserve(self, claim: Claim, names: tuple[str, ...], rule: Rule) -> Run:
        async def verb(unit: Unit) -> Run:
            run = going_on(await unit.writing_run(claim))
            ruling = rule(run, await unit.tables.lock_balances(sorted(names)))
            await _write(unit, run, ruling)
            return await unit.known_run(run.id)

        return await self._write(verb)

    async def release(self, call_id: str) -> None:
        await self._write(lambda unit: release(unit.tables, call_id))

    async def wake_parked(self, lease: Lease) -> tuple[Run, ...]:
        parked = await self._look(lambda tables: tables.parked_runs())
        woken = [await self._write(partial(_wake, run_id=run.id, lease=lease)) for run in parked]
        return tuple(run for run in woken if run is not None)


async def _write(unit: Unit, run: Run, ruling: Ruling) -> None:
    match ruling:
        case Granted(reservation=reservation):
            if await unit.tables.reservation(reservation.row.id) is None:
                await unit.tables.insert_reservation(reservation)
                for name, balance in ruling.balances.items():
                    await unit.tables.put_balance(name, balance)
                await apply(unit, ruling.effects)
        case Waits():
            again = RequeueRun(run_id=run.id, ready_at=ruling.ready_at, progress=run.progress)
            await apply(unit, (again, *ruling.effects))
            if ruling.parked is not None:
                queued = await unit.known_run(run.id)
                await unit.tables.update_run(replace(queued, parked=ruling.parked))
                await _restate(unit, run.key)
        case Forgone():
            await apply(unit, ruling.effects)
        case _:
            assert_never(ruling)


async def _wake(unit: Unit, *, run_id: str, lease: Lease) -> Run | None:
    await hold(unit, lease)
    run = await unit.known_run(run_id)
    if run.state is not RunState.QUEUED or run.ready_at <= unit.now:
        return None
    woken = replace(run, ready_at=unit.now)
    await unit.tables.update_run(woken)
    await _restate(unit, run.key)
    unit.waking.run_due()
    return woken


async def _restate(unit: Unit, key: SessionKey) -> None:
    await unit.set_status(key, standing(await unit.tables.active_runs(key), unit.now))
