"""Starts runs as there is room for them: one at a time a session, fair between those who asked."""

from dataclasses import replace
from functools import partial

import anyio
from anyio.abc import TaskGroup

from roost.core.leases import Lease
from roost.core.runs import Run
from roost.core.scheduling import Limits, choose
from roost.engine.runner import Runner
from roost.ports import Clock, Store, Topic, TopicKind

RUNS = Topic(TopicKind.RUNS)
POLL_MS = 500


class Scheduler:
    """Waits for work and claims it; the lease is asked for at each claim, because it may have been renewed."""

    def __init__(self, store: Store, clock: Clock, runner: Runner, limits: Limits) -> None:
        self._store = store
        self._clock = clock
        self._runner = runner
        self._limits = limits
        self._under_way = 0
        self._room = anyio.Event()

    async def serve(self, lease: Lease, group: TaskGroup) -> None:
        """Start runs in a task group until cancelled."""
        while True:
            for run in await self._next(lease):
                self._under_way += 1
                group.start_soon(self._run, run, name=f"run {run.id}")

    async def _next(self, lease: Lease) -> tuple[Run, ...]:
        """Runs that were claimed: looked for at every piece of news, and now and then without any."""
        claimed: tuple[Run, ...] = ()
        while self._under_way >= self._limits.ceiling:
            await self._room.wait()
        limits = replace(self._limits, ceiling=self._limits.ceiling - self._under_way)

        async def claim() -> tuple[Run, ...] | None:
            # A claim that is committed and not heard of would hold its session for good.
            found: tuple[Run, ...] = ()
            with anyio.CancelScope(shield=True):
                found = await self._store.claim_runs(lease, partial(choose, limits=limits))
            return found or None

        async with anyio.create_task_group() as group:

            async def poll() -> None:
                # A run that waits for its moment makes no news when the moment comes.
                await self._clock.sleep(POLL_MS)
                group.cancel_scope.cancel()

            group.start_soon(poll)
            claimed = await self._store.wait_for(RUNS, claim)
            group.cancel_scope.cancel()
        return claimed

    async def _run(self, run: Run) -> None:
        try:
            await self._runner.run(run)
        finally:
            self._under_way -= 1
            self._room.set()
            self._room = anyio.Event()
