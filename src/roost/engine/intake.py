"""Takes work from the store as there is room for it: at every piece of news, and now and then without any."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import anyio

from roost.ports import Clock, Store, Topic

Job = TypeVar("Job")


class Intake(Generic[Job]):
    """At most `most` jobs are under way; each is worked off inside `underway`."""

    def __init__(self, store: Store, clock: Clock, topic: Topic, *, most: int, poll_ms: int) -> None:
        self._store = store
        self._clock = clock
        self._topic = topic
        self._most = most
        self._poll_ms = poll_ms
        self._taken = 0
        self._room = anyio.Event()

    async def take(self, claim: Callable[[int], Awaitable[tuple[Job, ...]]]) -> tuple[Job, ...]:
        """The next jobs, asked for with the room there is; () after a while without any."""
        while self._taken >= self._most:
            await self._room.wait()
        free = self._most - self._taken
        jobs: tuple[Job, ...] = ()

        async def claimed() -> tuple[Job, ...] | None:
            # A claim that is committed and not heard of would be held by nobody.
            found: tuple[Job, ...] = ()
            with anyio.CancelScope(shield=True):
                found = await claim(free)
            return found or None

        async with anyio.create_task_group() as group:

            async def poll() -> None:
                # What waits for its moment makes no news when the moment comes.
                await self._clock.sleep(self._poll_ms)
                group.cancel_scope.cancel()

            group.start_soon(poll)
            jobs = await self._store.wait_for(self._topic, claimed)
            group.cancel_scope.cancel()
        self._taken += len(jobs)
        return jobs

    @contextmanager
    def underway(self) -> Iterator[None]:
        """Around the work on one job that was taken."""
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Around a wait inside such work: its place is free for others. Afterwards it goes on at once, even if that
        is one too many: to wait again for a place could be to wait for ever."""
        self._leave()
        try:
            yield
        finally:
            self._taken += 1

    def _leave(self) -> None:
        self._taken -= 1
        self._room.set()
        self._room = anyio.Event()
