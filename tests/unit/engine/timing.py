"""A gateway's timers over a store in memory, and time that passes when a test says so."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio

from roost.core.addresses import DEFAULT_ACCOUNT, Account
from roost.core.jobs import Job
from roost.core.leases import Gateway, Lease
from roost.engine.ids import FreshIds
from roost.engine.jobs import Jobs
from roost.engine.rulebook import Rulebook
from roost.engine.rules import CommandRules, Housekeeping, Rules, TimerRules
from roost.engine.sysevents import SystemEvents
from roost.engine.timers import Timers
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from tests.waiting import until_all_wait

MOST_STEPS = 2_000
TELEGRAM = Account(channel="telegram", account=DEFAULT_ACCOUNT)


def no_cast(*_: object) -> object:
    raise AssertionError("nothing is run here")


@dataclass
class Watch:
    clock: FakeClock = field(default_factory=FakeClock)
    lease: Lease | None = None

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)
        rules = Rules(cast=no_cast, commands=CommandRules(agents=("main", "helper")))  # type: ignore[arg-type]
        self.book = Rulebook(rules)
        new_id = FreshIds(self.clock)
        self.timers = Timers(self.store, self.clock, new_id, self.book)
        self.jobs = Jobs(
            self.store, self.clock, new_id, self.book, self.timers, lambda: self.lease, [TELEGRAM]
        )
        self.system_events = SystemEvents(self.store, self.clock, new_id, self.book, self.timers)

    def change(self, timers: TimerRules) -> None:
        self.book.replace(replace(self.book.current, house=Housekeeping(timers=timers)))

    async def hold(self) -> Lease:
        self.lease = await self.store.acquire_lease(Gateway(name="g", holder="p"))
        return self.lease

    async def keep(self, job: Job) -> Job:
        await self.store.change_job(job.id, lambda known: job)
        return job

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        lease = await self.hold()
        async with anyio.create_task_group() as group:
            group.start_soon(self.timers.serve, lease)
            yield
            group.cancel_scope.cancel()

    async def passing(self, done: Callable[[], Awaitable[bool]], step: int = 500) -> None:
        """Let time pass until something is so; who sleeps is woken as it goes by."""
        assert self.lease is not None
        for _ in range(MOST_STEPS):
            if await done():
                return
            self.clock.advance(step)
            self.lease = await self.store.renew_lease(self.lease)
            await until_all_wait()
        raise AssertionError("it did not come to pass")

    async def fired(self, job_id: str = "j1") -> int:
        return await self.store.count_firings(job_id)
