"""Listening to one session, or to all: what is stored, read from the store, and what is only shown, in one row."""

from collections import deque
from collections.abc import Callable
from typing import Self, TypeAlias

from roost.core.events import Event
from roost.core.feeds import (
    Anchor,
    FeedItem,
    Gap,
    Interest,
    ListGap,
    ListItem,
    SessionChanged,
    SessionGone,
    SessionTouched,
)
from roost.core.keys import SessionKey
from roost.core.sessions import Session
from roost.core.visibility import Allowed, Operation, PersonCaller, Target, decide
from roost.engine.ears import Ears
from roost.ports import Store

PAGE = 100
MOST_CHANGED = 1_000


Replay: TypeAlias = Callable[[Ears], None]
Speaks: TypeAlias = Callable[[str], bool]
Follows: TypeAlias = Callable[[SessionKey], Interest]


def every_session(key: SessionKey) -> Interest:
    return Interest.STATE


class SessionFeed:
    """The feed of one session from the number after `after` on. One task at a time may listen."""

    def __init__(self, store: Store, key: SessionKey, after: int, ears: Ears, replay: Replay) -> None:
        self._store = store
        self._key = key
        self._after = self._read = after
        self._ears = ears
        self._replay = replay
        self._stored: deque[Event | Gap] = deque()
        self._news, self._looked = 1, 0

    def changed(self, key: SessionKey) -> None:
        """There is news in the store."""
        self._news += 1
        self._ears.wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FeedItem:
        while True:
            if self._ears.missed:
                self._replay(self._ears)
                return Gap(after=self._after)
            while self._looked < self._news and len(self._stored) < PAGE:
                await self._look()
            item = self._next()
            if item is not None:
                return item
            await self._ears.wait()

    def _next(self) -> FeedItem | None:
        """A preview stands after its anchor, which was stored before it was told, and before what was stored later."""
        anchor = self._ears.anchor
        if anchor is not None and self._looked == self._news and not self._is_ahead(anchor):
            shown = self._ears.take(hurry=bool(self._stored))
            return None if shown is None else shown.preview
        if not self._stored:
            return None
        item = self._stored.popleft()
        self._after = item.number if isinstance(item, Event) else item.after
        return item

    def _is_ahead(self, anchor: Anchor) -> bool:
        return any(isinstance(item, Event) and anchor.marks(item) for item in self._stored)

    async def _look(self) -> None:
        news = self._news
        events = await self._store.events(self._key, after=self._read, limit=PAGE)
        if events:
            if events[0].number > self._read + 1:
                self._stored.append(Gap(after=self._read))
            self._stored.extend(events)
            self._read = events[-1].number
        # Behind a full page there may be more.
        self._looked = self._looked if len(events) == PAGE else news


class ListFeed:
    """Changes of every session a person may see, and what their runs say. One task at a time may listen.

    What nobody is interested in when it changes is passed over. A session is read only if somebody wants to know how it
    stands; else who may see all is told that it changed.
    """

    def __init__(
        self,
        store: Store,
        caller: PersonCaller,
        ears: Ears,
        replay: Replay,
        speaks: Speaks,
        follows: Follows = every_session,
    ) -> None:
        self._store = store
        self._caller = caller
        self._ears = ears
        self._replay = replay
        self._speaks = speaks
        self._follows = follows
        self._changed: dict[SessionKey, int] = {}

    def changed(self, key: SessionKey) -> None:
        if self._ears.missed or self._follows(key) is Interest.NONE:
            return
        self._changed[key] = self._changed.get(key, 0) + 1
        if len(self._changed) > MOST_CHANGED:
            self._changed.clear()
            self._ears.forget()
        self._ears.wake()

    def expects(self, run_id: str) -> bool:
        """Whether a run may still be heard of here. Of one that another gateway ran only the store tells."""
        return self._speaks(run_id) or self._ears.holds(run_id)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ListItem:
        while True:
            if self._ears.missed:
                self._changed.clear()
                self._replay(self._ears)
                return ListGap()
            shown = self._ears.take()
            if shown is not None:
                return shown
            if not self._changed:
                await self._ears.wait()
            elif change := await self._change(*next(iter(self._changed.items()))):
                return change

    async def _change(
        self, key: SessionKey, times: int
    ) -> SessionChanged | SessionGone | SessionTouched | None:
        if self._follows(key) is not Interest.STATE:
            del self._changed[key]
            return SessionTouched(key=key) if self._caller.rules_all else None
        heard = self._ears.heard
        session = await self._store.session(key)
        if self._ears.heard > heard:
            # What was said meanwhile comes before what was stored meanwhile.
            return None
        # What came while it was read is told once more.
        if self._changed.get(key) == times:
            del self._changed[key]
        if session is None:
            # Whose it was cannot be told any more.
            return SessionGone(key=key) if self._caller.rules_all else None
        return SessionChanged(session=session) if may_list(self._caller, session) else None


def may_list(caller: PersonCaller, session: Session) -> bool:
    target = Target(key=session.key, agent=session.key.agent, owner=session.owner)
    return isinstance(decide(Operation.LIST, caller, target), Allowed)
