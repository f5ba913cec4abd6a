"""Wake-ups inside one process. Truth is in the store; a wake-up only says when to look again."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

from roost.core.errors import StoreUnavailable
from roost.ports import Topic

Found = TypeVar("Found")


class Topics:
    """Who waits for what. Used on the event loop's thread only."""

    def __init__(self) -> None:
        self._waiters: dict[Topic, set[anyio.Event]] = {}
        self._closed = False

    def wake(self, topics: Iterable[Topic]) -> None:
        for topic in topics:
            for waiter in self._waiters.pop(topic, ()):
                waiter.set()

    def close(self) -> None:
        """There will be no more news: who waits is told so."""
        self._closed = True
        self.wake(tuple(self._waiters))

    async def wait_for(self, topic: Topic, check: Callable[[], Awaitable[Found | None]]) -> Found:
        while True:
            # Registered before asking: news that comes while `check` runs is not missed.
            waiter = anyio.Event()
            self._waiters.setdefault(topic, set()).add(waiter)
            try:
                found = await check()
                if found is not None:
                    return found
                if self._closed:
                    raise StoreUnavailable("the store is closed")
                await waiter.wait()
            finally:
                self._drop(topic, waiter)

    def _drop(self, topic: Topic, waiter: anyio.Event) -> None:
        waiters = self._waiters.get(topic)
        if waiters is not None:
            waiters.discard(waiter)
            if not waiters:
                del self._waiters[topic]
