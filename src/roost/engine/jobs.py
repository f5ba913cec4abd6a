"""What a person does to jobs, through whichever door. Timers are the owner's: for everybody else there are none."""

from collections.abc import Callable, Collection

from roost.core.addresses import Account
from roost.core.errors import Forbidden, NotFound, StoreUnavailable
from roost.core.firings import Firing
from roost.core.jobs import Announce, Job, Plan, Setting, Telling, Venue, made, refuse_crowd, replanned, venue
from roost.core.leases import Lease
from roost.core.letters import chosen
from roost.core.principals import Principal
from roost.core.queries import Page
from roost.engine.rulebook import Rulebook
from roost.engine.rules import NewId
from roost.engine.timers import Timers
from roost.engine.zones import zones_of
from roost.ports import Clock, Store


class Jobs:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        new_id: NewId,
        book: Rulebook,
        timers: Timers,
        lease: Callable[[], Lease | None],
        channels: Collection[Account],
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._book = book
        self._timers = timers
        self._lease = lease
        self._channels = channels

    @property
    def enabled(self) -> bool:
        return self._book.current.house.timers.enabled

    async def every(self, caller: Principal) -> tuple[Job, ...]:
        """All that people made, the newest last."""
        if not caller.is_owner:
            return ()
        found = [job for job in await self._store.jobs() if job.of_people]
        return tuple(sorted(found, key=lambda job: (job.created_at, job.id)))

    async def one(self, caller: Principal, job_id: str) -> Job:
        return _known(caller, await self._store.job(job_id), job_id)

    async def add(self, caller: Principal, plan: Plan) -> Job:
        _refuse_others(caller)
        self._refuse_nowhere(plan.telling)
        job_id = self._new_id()
        refuse_crowd(await self._store.jobs(), job_id)
        job = made(job_id, caller, plan, self._setting())
        await self._store.change_job(job.id, lambda known: job)
        return job

    async def change(self, caller: Principal, job_id: str, change: Callable[[Plan], Plan]) -> Job:
        _refuse_others(caller)
        setting = self._setting()

        def decide(known: Job | None) -> Job:
            job = _known(caller, known, job_id)
            plan = change(job.plan)
            if plan.telling != job.plan.telling:
                self._refuse_nowhere(plan.telling)
            return replanned(job, plan, setting)

        changed = await self._store.change_job(job_id, decide)
        return _known(caller, changed, job_id)

    async def remove(self, caller: Principal, job_id: str) -> None:
        _refuse_others(caller)

        def decide(known: Job | None) -> None:
            _known(caller, known, job_id)

        await self._store.change_job(job_id, decide)

    async def run(self, caller: Principal, job_id: str, *, force: bool = True) -> str | None:
        """Take one up now, also if it is paused; unless forced, only if it is due. What names the asking, or None if nothing
        was begun."""
        _refuse_others(caller)
        lease, now = self._lease(), self._clock.now()
        if lease is None:
            raise StoreUnavailable("this gateway does not serve yet")
        job = await self.one(caller, job_id)
        if not force and (job.next_at is None or job.next_at > now):
            return None
        name = f"manual:{job.id}:{now}:{self._new_id()}"
        return None if await self._timers.fire(lease, job, by_hand=name) is None else name

    async def history(
        self, caller: Principal, job_id: str | None, *, limit: int, offset: int
    ) -> tuple[Page[Firing], int]:
        """What came of a job, or of all, newest first, and how much there is. Of jobs that are gone it is told too."""
        if job_id is not None:
            await self.one(caller, job_id)
        elif not caller.is_owner:
            return Page((), more=False), 0
        page = await self._store.firings(job_id, limit=limit, offset=offset)
        return page, await self._store.count_firings(job_id)

    def venue(self, job: Job) -> Venue:
        return venue(job, self._book.current.routing.main_name)

    def _refuse_nowhere(self, telling: Telling) -> None:
        """What is told on a channel that there is not would be heard by nobody. One that is configured may be served by
        another process: this one may be a program without channels."""
        to = telling.to if isinstance(telling, Announce) else None
        if to is not None and to.channel not in self._book.current.doors:
            chosen(self._channels, to.channel, to.account)

    def _setting(self) -> Setting:
        rules = self._book.current
        return Setting(now=self._clock.now(), zones=zones_of(rules.zone), agents=tuple(rules.commands.agents))


def _refuse_others(caller: Principal) -> None:
    if not caller.is_owner:
        raise Forbidden("timers are set by the gateway's owner", hint="ask them to set one")


def _known(caller: Principal, job: Job | None, job_id: str) -> Job:
    if job is None or not caller.is_owner or not job.of_people:
        raise NotFound(f"there is no job {job_id}", hint="see the list of jobs")
    return job
