"""Jobs: changed by one at a time, taken up by one gateway when they are due."""

from roost.core.firings import Firing, FiringState, settled
from roost.core.jobs import DecideFiring, DecideJob, Job, Occasion, Venue
from roost.core.leases import Lease
from roost.core.numbers import refuse_oversized
from roost.core.queries import Page, refuse_limit
from roost.stores.applying import apply
from roost.stores.seeing import standing
from roost.stores.tables import Tables
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs, hold


class JobVerbs(Verbs):
    async def jobs(self) -> tuple[Job, ...]:
        return await self._read(lambda tables: tables.jobs())

    async def job(self, job_id: str) -> Job | None:
        return await self._read(lambda tables: tables.job(job_id))

    async def due_jobs(self, now: int, limit: int) -> tuple[Job, ...]:
        refuse_limit(limit)
        refuse_oversized(now)
        return await self._read(lambda tables: tables.due_jobs(now, limit))

    async def next_due_job(self) -> int | None:
        return await self._read(lambda tables: tables.next_due_job())

    async def change_job(self, job_id: str, decide: DecideJob) -> Job | None:
        async def verb(unit: Unit) -> Job | None:
            known = await unit.tables.lock_job(job_id)
            wanted = unit.sealed(decide(known))
            if wanted is not None and wanted != known:
                await unit.tables.put_job(wanted)
            elif wanted is None and known is not None:
                await unit.tables.delete_job(job_id)
            if wanted != known:
                unit.waking.job_changed()
            return wanted

        return await self._write(verb)

    async def fire_job(self, lease: Lease, seen: Job, where: Venue, decide: DecideFiring) -> Job | None:
        async def verb(unit: Unit) -> Job | None:
            await hold(unit, lease)
            job = await unit.tables.lock_job(seen.id)
            if job != seen:
                return None
            fired = decide(await _occasion(unit, job, where))
            # First: what comes of it may be that the job is forgotten.
            if fired.job != job:
                await unit.tables.put_job(fired.job)
                unit.waking.job_changed()
            await apply(unit, fired.effects)
            return fired.job

        return await self._write(verb)

    async def firings(self, job_id: str | None, *, limit: int, offset: int = 0) -> Page[Firing]:
        refuse_limit(limit, offset)

        async def verb(tables: Tables) -> Page[Firing]:
            rows = await tables.firings(job_id, limit + 1, offset)
            stand = [await _standing(tables, one) for one in rows[:limit]]
            return Page(tuple(stand), more=len(rows) > limit)

        return await self._read(verb)

    async def count_firings(self, job_id: str | None) -> int:
        return await self._read(lambda tables: tables.count_firings(job_id))


async def _occasion(unit: Unit, job: Job, where: Venue) -> Occasion:
    work = await unit.snapshot(where.work)
    unsettled = await unit.tables.unsettled_firings(job.id)
    return Occasion(
        job=job,
        work=work,
        home=work if where.home == where.work else await unit.snapshot(where.home),
        unsettled=tuple([(one, await standing(unit.tables, one.run_id or "")) for one in unsettled]),
    )


async def _standing(tables: Tables, firing: Firing) -> Firing:
    """As it is by its run, where nobody wrote down its end."""
    if firing.run_id is None or firing.state is not FiringState.STARTED:
        return firing
    return settled(firing, await standing(tables, firing.run_id), firing.at)
