"""Live views: who listens to which session. Speaking never waits for a listener; the store stays the only truth."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeAlias

from roost.core.feeds import FeedItem
from roost.core.keys import SessionKey
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.visibility import Caller, Operation, PersonCaller
from roost.engine.ears import Ears
from roost.engine.reaching import reach
from roost.engine.subscriptions import Follows, ListFeed, SessionFeed, every_session, may_list
from roost.engine.voice import Voice
from roost.ports import Clock, Store

Hears: TypeAlias = Callable[[Session], bool]


class Feed:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._listeners: dict[Ears, Hears] = {}
        self._voices: dict[str, Voice] = {}

    @contextmanager
    def speaking(self, run: Run) -> Iterator[Voice]:
        """Around a run."""
        voice = self._voices[run.id] = Voice(run, self._audience)
        try:
            yield voice
        finally:
            # One that is given up meanwhile speaks twice.
            if self._voices.get(run.id) is voice:
                del self._voices[run.id]

    @asynccontextmanager
    async def subscribe(
        self, key: SessionKey, caller: Caller, *, after: int | None = None
    ) -> AsyncIterator[AsyncIterator[FeedItem]]:
        """The feed of a session: from the number after `after` on, else from now on. It need not exist yet, for who
        may see every session. Raises what the guard says to a caller who may not read it."""
        session = await reach(self._store, Operation.HISTORY, caller, key, self._clock.now())
        start = after if after is not None else session.events if session else 0
        with self._listening(lambda spoken: spoken.key == key) as ears:
            feed = SessionFeed(self._store, key, start, ears, self._replay)
            with self._store.watch(key, feed.changed):
                yield feed

    @asynccontextmanager
    async def subscribe_all(
        self, caller: PersonCaller, follows: Follows = every_session
    ) -> AsyncIterator[ListFeed]:
        """Changes of all sessions that a person may see, from now on, and what their runs say; of each as much as
        somebody is interested in when it changes."""
        with self._listening(lambda spoken: may_list(caller, spoken)) as ears:
            feed = ListFeed(self._store, caller, ears, self._replay, self._voices.__contains__, follows)
            with self._store.watch(None, feed.changed):
                yield feed

    @contextmanager
    def _listening(self, hears: Hears) -> Iterator[Ears]:
        ears = Ears(self._clock)
        self._listeners[ears] = hears
        self._replay(ears)
        for voice in self._heard_by(ears):
            voice.audience.append(ears)
        try:
            yield ears
        finally:
            for voice in self._heard_by(ears):
                voice.audience.remove(ears)
            del self._listeners[ears]

    def _audience(self, session: Session) -> list[Ears]:
        return [ears for ears, hears in self._listeners.items() if hears(session)]

    def _heard_by(self, ears: Ears) -> list[Voice]:
        hears = self._listeners[ears]
        return [voice for voice in self._voices.values() if voice.session and hears(voice.session)]

    def _replay(self, ears: Ears) -> None:
        """Tell a listener who comes, or comes back, what is going on."""
        ears.listen(shown for voice in self._heard_by(ears) for shown in voice.going_on())
