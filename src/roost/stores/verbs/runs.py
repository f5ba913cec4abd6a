"""Runs: started under a claim, ended once, given a fate when their gateway is gone."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from roost.core.effects import RequeueRun
from roost.core.errors import InvalidInput, RoostError
from roost.core.exchanges import Completion, Exchange, Spawned
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.ledger import LedgerRow
from roost.core.numbers import refuse_oversized
from roost.core.queries import refuse_limit
from roost.core.runs import Claim, Run, RunState, Step
from roost.core.snapshots import Advance, DecideExchange
from roost.core.turntaking import PER_ASKER, Backlog, Choose
from roost.ports import Recover
from roost.stores.applying import apply
from roost.stores.seeing import seen_exchange, seen_run, standing
from roost.stores.starting import start
from roost.stores.steps import begin_step
from roost.stores.tables import Tables
from roost.stores.unit import Unit, going_on, live_leases
from roost.stores.verbs.base import Verbs, hold, hold_alone, unheard

READY_LIMIT = 512


class RunVerbs(Verbs):
    async def run(self, run_id: str) -> Run | None:
        return await self._look(lambda tables: tables.run(run_id))

    async def active_runs(self, key: SessionKey) -> tuple[Run, ...]:
        return await self._look(lambda tables: tables.active_runs(key))

    async def exchange(self, exchange_id: str) -> Exchange | None:
        return await self._look(lambda tables: tables.exchange(exchange_id))

    async def exchanges(self, requester: SessionKey, target: SessionKey) -> tuple[Exchange, ...]:
        return await self._look(lambda tables: tables.exchanges(requester, target))

    async def exchanges_of(self, key: SessionKey, limit: int) -> tuple[Exchange, ...]:
        refuse_limit(limit)
        return await self._read(lambda tables: tables.exchanges_of(key, limit))

    async def remote_exchanges(self, limit: int, but_to: Collection[str] = ()) -> tuple[Exchange, ...]:
        refuse_limit(limit)
        return await self._read(lambda tables: tables.remote_exchanges(limit, but_to))

    async def change_exchange(self, exchange_id: str, decide: DecideExchange) -> Exchange | None:
        async def verb(unit: Unit) -> Exchange | None:
            known = await unit.tables.exchange(exchange_id)
            if known is None or await unit.session(known.target) is None:
                return known
            # Under the lock it may be another one.
            known = await unit.tables.exchange(exchange_id)
            if known is not None:
                await apply(unit, decide(await seen_exchange(unit, known)))
            return await unit.tables.exchange(exchange_id)

        return await self._write(verb)

    async def completion(self, child_run: str) -> Completion | None:
        return await self._look(lambda tables: tables.completion(child_run))

    async def completions(self, requester: SessionKey) -> tuple[Completion, ...]:
        return await self._look(lambda tables: tables.owed(requester))

    async def spawned(self, requester: SessionKey) -> tuple[Spawned, ...]:
        return await self._read(lambda tables: tables.spawned(requester))

    async def claim_runs(self, lease: Lease, choose: Choose) -> tuple[Run, ...]:
        async def verb(unit: Unit) -> tuple[Run, ...]:
            await hold(unit, lease)
            ready = await unit.tables.ready_runs(unit.now, PER_ASKER, READY_LIMIT)
            if not ready:
                return ()
            backlog = Backlog(ready=ready, running=await unit.tables.running_runs())
            by_id = {run.id: run for run in ready}
            chosen = dict.fromkeys(choose(backlog))
            if not chosen.keys() <= by_id.keys():
                raise InvalidInput(
                    f"a run was chosen that is not ready: {sorted(chosen.keys() - by_id.keys())}"
                )
            starting = await unit.tables.still_ready([by_id[run_id] for run_id in chosen])
            return tuple([await start(unit, run, lease) for run in starting])

        return await self._write(verb)

    async def unclaim_runs(self, lease: Lease, known: Collection[Claim]) -> tuple[Run, ...]:
        async def verb(unit: Unit) -> tuple[Run, ...]:
            await hold_alone(unit, lease)
            found = [run for run in await unit.tables.running_runs() if unheard(run.claim, lease, known)]
            return tuple([again for run in found if (again := await _unclaim(unit, run))])

        return await self._write(verb)

    async def begin_step(self, claim: Claim, step: Step, call: LedgerRow | None = None) -> None:
        async def verb(unit: Unit) -> None:
            await begin_step(unit, going_on(await unit.claimed_run(claim)), step, call)

        await self._write(verb)

    async def finish_run(self, claim: Claim, advance: Advance) -> Run:
        async def verb(unit: Unit) -> Run:
            return await _ended(unit, await unit.claimed_run(claim), advance)

        return await self._write(verb)

    async def overdue_runs(self, now: int) -> tuple[Run, ...]:
        refuse_oversized(now)
        return await self._look(lambda tables: tables.overdue_runs(now, READY_LIMIT))

    async def give_up(self, lease: Lease, run_id: str, advance: Advance) -> Run | None:
        async def verb(unit: Unit) -> Run | None:
            await hold(unit, lease)
            if await unit.tables.run(run_id) is None:
                return None
            run = await unit.known_run(run_id)
            if run.outcome is None or run.outcome.until is None:
                return None
            stands = await standing(unit.tables, run_id)
            if stands is not None and stands.id == run_id and stands.state is RunState.RUNNING:
                return await _ended(unit, run, advance)
            await unit.tables.update_run(replace(run, outcome=replace(run.outcome, until=None)))
            return None

        return await self._write(verb)

    async def reap_runs(self, lease: Lease, recover: Recover) -> tuple[Run, ...]:
        reaped, failures = [], []
        for run in await self._read(_adrift):
            try:
                after = await self._write(partial(_reap, run_id=run.id, lease=lease, recover=recover))
            except RoostError as error:
                failures.append(error)
                continue
            if after is not None:
                reaped.append(after)
        if failures:
            raise failures[0]
        return tuple(reaped)


async def _ended(unit: Unit, run: Run, advance: Advance) -> Run:
    await apply(unit, advance(await seen_run(unit, run)))
    ended = unit.end_of(run.id)
    if ended is None:
        raise InvalidInput(f"the decision on run {run.id} did not end it")
    return ended


async def _adrift(tables: Tables) -> tuple[Run, ...]:
    """Runs whose gateway is gone."""
    live = await live_leases(tables)
    running = await tables.running_runs()
    return tuple(run for run in running if run.claim and (run.claim.gateway, run.claim.epoch) not in live)


async def _reap(unit: Unit, *, run_id: str, lease: Lease, recover: Recover) -> Run | None:
    """Give one run its fate, if its claim is void; that of another may have been the end of this one."""
    await hold(unit, lease)
    if await unit.tables.run(run_id) is None:
        return None
    run = await unit.known_run(run_id)
    if run.claim is None or await unit.holds(run.claim):
        return None
    leases = await unit.tables.leases()
    held_until = {(one.gateway.name, one.epoch): one.expires_at for one in leases}
    left_at = held_until.get((run.claim.gateway, run.claim.epoch))
    await apply(unit, recover(replace(await seen_run(unit, run), left_at=left_at)))
    # One that ended may be gone with its session.
    after = unit.end_of(run.id) or await unit.known_run(run.id)
    if after.state is RunState.RUNNING:
        raise InvalidInput(f"recovery left run {run.id} running under a void claim")
    return after


async def _unclaim(unit: Unit, run: Run) -> Run | None:
    claimed = run.claim
    run = await unit.known_run(run.id)
    if run.claim != claimed:
        return None
    await apply(unit, (RequeueRun(run_id=run.id, ready_at=run.ready_at, progress=run.progress),))
    return await unit.known_run(run.id)
