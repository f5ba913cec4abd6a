"""Wake-ups inside one process. Truth is in the store; a wake-up only says when to look again."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import anyio

from roost.core.errors import StoreUnavailable
from roost.ports import Told, Topic, TopicKind
from roost.stores.codec import stored_key

Found = TypeVar("Found")
Listener = TypeVar("Listener")
WATCHED = frozenset({TopicKind.SESSION, TopicKind.RUN_ENDED})


class Topics:
    """Who waits for what. Used on the event loop's thread only."""

    def __init__(self) -> None:
        self._waiters: dict[Topic, set[anyio.Event]] = {}
        self._watchers: dict[Topic, list[Told]] = {}
        self._heeders: dict[Topic, list[Callable[[], None]]] = {}
        self._closed = False

    def wake(self, topics: Iterable[Topic]) -> None:
        for topic in topics:
            for waiter in self._waiters.pop(topic, ()):
                waiter.set()
            for news in self._heeders.get(topic, ()):
                news()
            if self._watchers and topic.kind in WATCHED:
                self._tell(topic)

    def wake_all(self) -> None:
        """There may have been news of anything."""
        watched = (topic for topic in self._watchers if topic.ref)
        self.wake({*self._waiters, *self._heeders, *watched})

    @property
    def all_watched(self) -> bool:
        """Whether anybody wants to be told of every session."""
        return Topic(TopicKind.SESSION) in self._watchers

    def watching(self, topic: Topic, told: Told) -> AbstractContextManager[None]:
        """Within the context, `told` hears of one session, or of every one."""
        return _among(self._watchers, topic, told)

    def heeding(self, topic: Topic, news: Callable[[], None]) -> AbstractContextManager[None]:
        """Within the context, `news` is called when there is some of a topic."""
        return _among(self._heeders, topic, news)

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

    def _tell(self, topic: Topic) -> None:
        watchers = (*self._watchers.get(topic, ()), *self._watchers.get(Topic(topic.kind), ()))
        if watchers:
            key = stored_key(topic.ref)
            for told in watchers:
                told(key)

    def _drop(self, topic: Topic, waiter: anyio.Event) -> None:
        waiters = self._waiters.get(topic)
        if waiters is not None:
            waiters.discard(waiter)
            if not waiters:
                del self._waiters[topic]


@contextmanager
def _among(listeners: dict[Topic, list[Listener]], topic: Topic, listener: Listener) -> Iterator[None]:
    listeners.setdefault(topic, []).append(listener)
    try:
        yield
    finally:
        listeners[topic].remove(listener)
        if not listeners[topic]:
            del listeners[topic]
