"""Takes up jobs when they are due, and keeps the look-arounds of agents among them.

Which gateway takes one up is decided by the store; what follows from it, by `core.occasions`.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import anyio

from roost.core import occasions
from roost.core.errors import Fenced, RoostError, StoreUnavailable
from roost.core.jobs import Job, Plan, Setting, SystemEvent, Wake, replanned, venue
from roost.core.leases import Lease
from roost.core.occasions import Moment
from roost.core.principals import OWNER
from roost.core.schedules import next_due
from roost.engine.rulebook import Rulebook
from roost.engine.rules import NewId, Rules
from roost.engine.zones import zones_of
from roost.ports import Clock, Store, Topic, TopicKind

JOBS = Topic(TopicKind.JOBS)
AT_ONCE = 500
LONGEST_MS = 60_000
# One that waits for the end of its last time, or that this gateway may not run, is looked at again after a while.
AGAIN_MS = 1_000

_log = logging.getLogger(__name__)


def beat_id(agent: str) -> str:
    """The job that is an agent's look-around."""
    return f"heartbeat-{agent}"


class Timers:
    def __init__(self, store: Store, clock: Clock, new_id: NewId, book: Rulebook) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._book = book

    async def serve(self, lease: Lease) -> None:
        """Take up what is due until cancelled."""
        followed: Rules | None = None
        while True:
            rules = self._book.current
            if rules is not followed:
                await self._follow(rules)
                followed = rules
            left = await self._take_up(lease, rules)
            await self._wait_for_next(rules, left=left)

    async def fire(self, lease: Lease, job: Job, *, by_hand: str | None = None) -> Job | None:
        """Take up one job; None if another did, or changed it."""
        rules = self._book.current
        moment = Moment(
            now=self._clock.now(),
            zones=zones_of(rules.zone),
            ownership=rules.routing.ownership,
            session_id=self._new_id(),
            trace=self._new_id(),
            beat=rules.house.timers.beat(job.plan.agent),
            met=rules.met_at,
            by_hand=by_hand,
        )
        where = venue(job, rules.routing.main_name)
        after = await self._store.fire_job(lease, job, where, partial(occasions.fire, moment=moment))
        work = job.plan.work
        if after is not None and isinstance(work, SystemEvent) and work.wake is Wake.NOW:
            await self.wake(job.plan.agent)
        return after

    async def wake(self, agent: str) -> None:
        """An agent shall look around now, if it does so at all."""
        now = self._clock.now()

        def due(known: Job | None) -> Job | None:
            if known is None or not known.plan.enabled:
                return known
            return replace(known, next_at=min(known.next_at or now, now))

        await self._store.change_job(beat_id(agent), due)

    async def switch(self, *, enabled: bool) -> None:
        """Let every look-around rest, or go on. It stays so for those that are configured later."""
        rules = self._book.current
        agents = tuple(rules.commands.agents)
        setting = Setting(now=self._clock.now(), zones=zones_of(rules.zone), agents=agents)

        def switched(known: Job | None) -> Job | None:
            return known and replanned(known, replace(known.plan, enabled=enabled), setting)

        for agent in rules.house.timers.beats:
            await self._store.change_job(beat_id(agent), switched)

    async def _take_up(self, lease: Lease, rules: Rules) -> bool:
        """Whether something is left that is due."""
        left = False
        for job in await self._store.due_jobs(self._clock.now(), AT_ONCE):
            if job.of_people and not rules.house.timers.enabled:
                continue
            try:
                after = await self.fire(lease, job)
            except (Fenced, StoreUnavailable):
                raise
            except RoostError as error:
                _log.warning("job %s (%s) could not be taken up: %s", job.id, job.plan.name, error)
                after = await self._put_off(job, rules)
            left = left or after == job
        return left

    async def _put_off(self, job: Job, rules: Rules) -> Job | None:
        """Not again before its next time: it would fail again at once, and for ever."""
        try:
            following = next_due(job.plan.schedule, self._clock.now(), zones_of(rules.zone))
        except RoostError:
            following = None
        after = replace(job, next_at=following)
        return await self._store.change_job(job.id, lambda known: after if known == job else known)

    async def _wait_for_next(self, rules: Rules, *, left: bool) -> None:
        """Until the next one is due, or something about them or the rules has changed."""
        known = await self._store.next_due_job()
        now = self._clock.now()
        overdue = known is not None and known <= now
        wait = AGAIN_MS if left or overdue else min((known or now + LONGEST_MS) - now, LONGEST_MS)

        async def changed() -> bool | None:
            return True if await self._store.next_due_job() != known else None

        async with anyio.create_task_group() as group:

            async def until(happens: Callable[[], Awaitable[object]]) -> None:
                await happens()
                group.cancel_scope.cancel()

            group.start_soon(until, partial(self._clock.sleep, wait))
            group.start_soon(until, partial(self._book.replaced, rules))
            await until(partial(self._store.wait_for, JOBS, changed))

    async def _follow(self, rules: Rules) -> None:
        """The look-arounds are those of the configuration."""
        known = {job.id: job for job in await self._store.jobs() if not job.of_people}
        going = all(job.plan.enabled for job in known.values())
        wanted = {
            beat_id(agent): replace(one.plan, enabled=going)
            for agent, one in rules.house.timers.beats.items()
        }
        for name in known.keys() - wanted.keys():
            await self._store.change_job(name, lambda job: None)
        for name, plan in wanted.items():
            await self._store.change_job(name, partial(self._beating, name=name, plan=plan, rules=rules))

    def _beating(self, known: Job | None, *, name: str, plan: Plan, rules: Rules) -> Job:
        plan = plan if known is None else replace(plan, enabled=known.plan.enabled)
        if known is not None and known.plan == plan:
            return known
        now = self._clock.now()
        return Job(
            id=name,
            owner=OWNER,
            plan=plan,
            created_at=now,
            updated_at=now,
            next_at=next_due(plan.schedule, now, zones_of(rules.zone)) if plan.enabled else None,
        )
