"""What is removed because its time is over, and the space that was its."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from roost.core import retention
from roost.core.effects import Archive, DeleteSession
from roost.core.keys import SessionKey
from roost.core.retention import Candidate, Cutoffs, Fullness, Record, SweepPlan, Swept
from roost.core.workload import Workload
from roost.stores.applying import apply
from roost.stores.names import moment
from roost.stores.tables import Tables
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs

STEP = 50
PAGES = 256


class RetentionVerbs(Verbs):
    async def sweep(self, cutoffs: Cutoffs, *, dry_run: bool = False) -> Swept:
        """In steps, each its own transaction: a lease must be renewed meanwhile, and others want to write."""
        found = await self._read(lambda tables: _past_their_time(tables, cutoffs))
        if dry_run:
            return found.swept(found.plan.remove, found.plan.archive)
        for key in found.feeds:
            await self._write(partial(_trim_feed, key=key, before=moment(cutoffs.events_before)))
        before = moment(cutoffs.dedupe_before)
        while await self._write(lambda unit: unit.tables.delete_stale_inbound(before, STEP)) == STEP:
            pass
        for record in Record:
            forget = partial(_forget, record=record, before=moment(cutoffs.records_before))
            while await self._write(forget) == STEP:
                pass
        for session_id in found.generations:
            await self._write(partial(_delete_generation, session_id=session_id))
        archived: list[Candidate] = []
        for step in _steps(found.plan.archive):
            archived += await self._write(partial(_archive_step, candidates=step))
        removed: list[Candidate] = []
        for step in _steps(found.plan.remove):
            removed += await self._write(partial(_delete_step, candidates=step))
        return found.swept(removed, archived)

    async def fullness(self) -> Fullness:
        return await self._read(lambda tables: tables.fullness())

    async def workload(self) -> Workload:
        return await self._read(lambda tables: tables.workload())

    async def give_back(self) -> int:
        """In steps, as a sweep."""
        freed = 0
        while step := await self._write(lambda unit: unit.tables.free_pages(PAGES)):
            freed += step
        return freed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    plan: SweepPlan
    feeds: tuple[SessionKey, ...]
    generations: tuple[str, ...]
    events: int
    inbound: int
    records: int

    def swept(self, removed: Sequence[Candidate], archived: Sequence[Candidate]) -> Swept:
        return Swept(
            sessions=tuple(sorted((one.key for one in removed), key=str)),
            archived=tuple(sorted((one.key for one in archived), key=str)),
            generations=len(self.generations),
            events=self.events,
            inbound=self.inbound,
            records=self.records,
            over=self.plan.over,
        )


async def _past_their_time(tables: Tables, cutoffs: Cutoffs) -> _Found:
    before = moment(cutoffs.events_before)
    feeds = await tables.stale_feeds(before)
    return _Found(
        plan=await _plan(tables, cutoffs),
        feeds=feeds,
        generations=await _stale_generations(tables, cutoffs),
        events=sum([await tables.count_stale_events(key, before) for key in feeds]),
        inbound=await tables.count_stale_inbound(moment(cutoffs.dedupe_before)),
        records=sum(
            [await tables.count_stale_records(one, moment(cutoffs.records_before)) for one in Record]
        ),
    )


async def _plan(tables: Tables, cutoffs: Cutoffs) -> SweepPlan:
    full = await tables.fullness()
    needed = retention.oldest_needed(cutoffs, full)
    candidates = () if needed is None else await tables.sweepable(needed)
    sizes = {}
    if retention.on_disk(cutoffs, full):
        sizes = {one.key: await tables.session_bytes(one.key) for one in candidates}
    return retention.plan(candidates, cutoffs, full, sizes)


async def _trim_feed(unit: Unit, *, key: SessionKey, before: int) -> None:
    await unit.tables.delete_stale_events(key, before)


async def _forget(unit: Unit, *, record: Record, before: int) -> int:
    return await unit.tables.delete_stale_records(record, before, STEP)


async def _delete_generation(unit: Unit, *, session_id: str) -> None:
    """Unless it is needed again since it was found; it grows no younger."""
    generation = await unit.tables.generation(session_id)
    session = None if generation is None else await unit.session(generation.key)
    if session is None or session.session_id == session_id or session.times.pinned is not None:
        return
    if not await unit.tables.has_work(session.key) and not await unit.tables.is_continued(session_id):
        await unit.tables.delete_generation(session_id)


async def _stale_generations(tables: Tables, cutoffs: Cutoffs) -> tuple[str, ...]:
    before = moment(cutoffs.generations_before)
    return await tables.stale_generations(before, max(before, moment(cutoffs.cron_before)))


async def _archive_step(unit: Unit, *, candidates: tuple[Candidate, ...]) -> list[Candidate]:
    done = [one for one in candidates if await _untouched(unit, one)]
    await apply(unit, tuple(Archive(key=one.key, at=unit.now) for one in done))
    return done


async def _delete_step(unit: Unit, *, candidates: tuple[Candidate, ...]) -> list[Candidate]:
    done = [one for one in candidates if await _untouched(unit, one)]
    await apply(unit, tuple(DeleteSession(key=one.key) for one in done))
    return done


async def _untouched(unit: Unit, one: Candidate) -> bool:
    """Whether it is still as it was when it was found: nothing happened, nothing waits, nobody needs, pinned or saved it."""
    return await unit.session(one.key) is not None and await unit.tables.found_again(one)


def _steps(candidates: tuple[Candidate, ...]) -> list[tuple[Candidate, ...]]:
    return [candidates[start : start + STEP] for start in range(0, len(candidates), STEP)]
