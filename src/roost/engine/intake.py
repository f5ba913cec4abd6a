"""Takes work from the store as there is room for it: at every piece of news, and now and then without any."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio

from roost.ports import Clock, Store, Topic

Job = TypeVar("Job")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Generic[Job]):
    """Where jobs come from. What `unclaim` gives back was claimed by a `claim` that raised."""

    claim: Callable[[int], Awaitable[tuple[Job, ...]]]
    begin: Callable[[Job], None]
    unclaim: Callable[[], Awaitable[None]]


class Intake(Generic[Job]):
    """At most `most` jobs are under way; each is worked off inside `underway`."""

    def __init__(self, store: Store, clock: Clock, topic: Topic, *, most: int, poll_ms: int) -> None:
        self._store = store
        self._clock = clock
        self._topic = topic
        self._most = most
        self._poll_ms = poll_ms
        self._taken = 0
        self._begun = 0
        self._closed = False
        self._unsure = False
        self._rested = anyio.Event()
        self._stir = anyio.Event()
        self._looks = False
        self._serves = False
        self._given: deque[Job] = deque()

    async def serve(self, source: Source[Job]) -> None:
        """Begin jobs until cancelled; they are asked for with the room there is."""
        self._serves = True
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._poll)
                with self._store.watch_for(self._topic, self.look_again):
                    self.look_again()
                    while True:
                        await self._stir.wait()
                        await self._stirred(source)
        finally:
            self._serves = False
            self._leave_given()

    def give(self, job: Job) -> None:
        """A job that was claimed already. One that comes too late is not begun."""
        if self._serves:
            self._taken += 1
            self._begun += 1
            self._given.append(job)
            self._stir.set()
        else:
            self._unsure = True

    @property
    def room(self) -> int:
        """For how many more there is room; for none while it is not known what is claimed."""
        return 0 if self._closed or self._unsure else self._most - self._taken

    def close(self) -> None:
        """Begin nothing more."""
        self._closed = True

    async def rest(self) -> None:
        """Return once nothing is under way, also of what has lent its place."""
        while self._begun:
            self._rested = anyio.Event()
            await self._rested.wait()

    def look_again(self) -> None:
        """There may be more than was taken."""
        self._looks = True
        self._stir.set()

    @contextmanager
    def underway(self) -> Iterator[None]:
        """Around the work on one job that was begun. Its end must be news of the store's."""
        try:
            yield
        finally:
            self._leave()
            self._ended()

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
        if self._taken == self._most - 1:
            self.look_again()

    def _ended(self) -> None:
        self._begun -= 1
        if not self._begun:
            self._rested.set()

    async def _stirred(self, source: Source[Job]) -> None:
        # Before asking: what comes up meanwhile is looked for again.
        self._stir = anyio.Event()
        looks, self._looks = self._looks, False
        while self._given:
            source.begin(self._given.popleft())
        if looks and self._taken < self._most and not self._closed:
            await self._begin_some(source)

    def _leave_given(self) -> None:
        """Nobody begins them here any more: whoever serves next makes them wait again."""
        self._unsure = self._unsure or bool(self._given)
        while self._given:
            self._given.pop()
            self._leave()
            self._ended()

    async def _begin_some(self, source: Source[Job]) -> None:
        # A claim that is committed and not heard of would be held by nobody.
        self._begun += 1
        try:
            with anyio.CancelScope(shield=True):
                jobs = await self._claimed(source)
            self._taken += len(jobs)
            self._begun += len(jobs)
            for job in jobs:
                source.begin(job)
        finally:
            self._ended()

    async def _claimed(self, source: Source[Job]) -> tuple[Job, ...]:
        if self._unsure:
            await source.unclaim()
        self._unsure = True
        jobs = await source.claim(self._most - self._taken)
        self._unsure = False
        return jobs

    async def _poll(self) -> None:
        # What waits for its moment makes no news when the moment comes.
        while True:
            await self._clock.sleep(self._poll_ms)
            self.look_again()
