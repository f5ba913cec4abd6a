from collections.abc import Callable
from typing import cast

import anyio
import anyio.lowlevel
import pytest

from roost.core.effects import DeleteSession, Pin
from roost.core.events import Event, EventKind
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
    Shown,
)
from roost.core.keys import SessionKey
from roost.core.previews import SpokenText
from roost.core.principals import OWNER, Principal, person
from roost.core.retention import Cutoffs
from roost.core.sessions import Session
from roost.core.visibility import PersonCaller
from roost.engine.ears import MOST_WAITING, Ears
from roost.engine.subscriptions import MOST_CHANGED, PAGE, Follows, ListFeed, SessionFeed, every_session
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.contract.scenes import change, opened
from tests.waiting import until_all_wait

SIDE = SessionKey.named("main", "side")
ADA = person("loopback", "ada")


class Desk:
    """A store with one session, and ears that nobody speaks to but the test."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store: Store = MemoryStore(self.clock)
        self.ears = Ears(self.clock)
        self.replayed = 0
        self.speaking = set[str]()

    def replay(self, ears: Ears) -> None:
        self.replayed += 1
        ears.listen(())

    def feed(self, after: int = 0) -> SessionFeed:
        return SessionFeed(self.store, MAIN, after, self.ears, self.replay)

    def list_feed(self, caller: PersonCaller, follows: Follows = every_session) -> ListFeed:
        return ListFeed(self.store, caller, self.ears, self.replay, self.speaking.__contains__, follows)

    async def append(self, *names: str) -> None:
        await self.store.append(MAIN, tuple(builders.said(name, "x") for name in names))

    def speak(self, text: str, after: str, answer: int = 1) -> None:
        piece = SpokenText(key=MAIN, run_id="r", answer=answer, offset=0, text=text)
        self.ears.hear(piece, Anchor(EventKind.ENTRY, after))


async def ready(feed: SessionFeed | ListFeed) -> list[FeedItem | ListItem]:
    """All that can be had without waiting."""
    found: list[FeedItem | ListItem] = []

    async def take() -> None:
        while True:
            found.append(await anext(feed))

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        await until_all_wait()
        group.cancel_scope.cancel()
    return found


def names(items: list[FeedItem | ListItem]) -> list[str | int]:
    """Entries and words by their text, gaps by their number."""
    found: list[str | int] = []
    for item in items:
        match item:
            case Event(kind=EventKind.ENTRY):
                found.append(item.ref)
            case SpokenText():
                found.append(item.text)
            case Gap():
                found.append(item.after)
            case _:
                pass
    return found


async def test_words_stand_after_what_was_stored_before_them_and_before_what_was_stored_later() -> None:
    desk = Desk()
    await opened(desk.store)
    feed = desk.feed()
    await desk.append("e1")
    desk.speak("one", "e1")
    await desk.append("e2", "e3")
    desk.speak("two", "e3", 2)
    feed.changed(MAIN)
    assert names(await ready(feed)) == ["e1", "one", "e2", "e3", "two"]
    await desk.append("e4")
    desk.speak("three", "e4", 3)
    feed.changed(MAIN)
    desk.clock.advance(1000)
    assert names(await ready(feed)) == ["e4", "three"]


async def test_many_pages_are_read_in_order_and_held_a_page_at_a_time() -> None:
    desk = Desk()
    await opened(desk.store)
    every = [f"e{number}" for number in range(3 * PAGE)]
    await desk.append(*every)
    desk.speak("last", every[-1])
    feed = desk.feed()
    assert names(await ready(feed)) == [*every, "last"]


async def test_a_listener_that_fell_behind_is_told_where_to_read_on_and_loses_nothing_stored() -> None:
    desk = Desk()
    await opened(desk.store)
    feed = desk.feed(after=1)
    await desk.append("e1", "e2")
    feed.changed(MAIN)
    assert names([await anext(feed)]) == ["e1"]
    desk.ears.forget()
    assert names(await ready(feed)) == [2, "e2"]
    assert desk.replayed == 1


async def test_events_that_are_no_longer_stored_leave_a_gap_with_their_number() -> None:
    desk = Desk()
    await opened(desk.store)
    await desk.append("e1", "e2")
    desk.clock.advance(1000)
    await desk.append("e3")
    await desk.store.sweep(Cutoffs(events_before=desk.clock.now()))
    assert names(await ready(desk.feed())) == [0, "e3"]


async def test_a_session_that_was_deleted_and_comes_again_is_heard_on() -> None:
    desk = Desk()
    await opened(desk.store)
    await desk.append("e1")
    feed = desk.feed()
    assert names(await ready(feed)) == ["e1"]
    await change(desk.store, DeleteSession(key=MAIN))
    feed.changed(MAIN)
    assert names(await ready(feed)) == []
    await opened(desk.store)
    await desk.append("e2")
    feed.changed(MAIN)
    assert names(await ready(feed)) == ["e2"]


@pytest.mark.parametrize(("caller", "seen"), [(OWNER, [MAIN, SIDE]), (ADA, [SIDE])])
async def test_changes_are_told_once_and_only_of_sessions_the_caller_may_see(
    caller: Principal, seen: list[SessionKey]
) -> None:
    desk = Desk()
    await opened(desk.store)
    await opened(desk.store, row=builders.session(SIDE, owner=ADA))
    feed = desk.list_feed(PersonCaller(principal=caller))
    for key in (MAIN, SIDE, MAIN):
        feed.changed(key)
    rows = [item.session.key for item in await ready(feed) if isinstance(item, SessionChanged)]
    assert rows == seen
    assert await ready(feed) == []


async def test_a_session_that_is_gone_is_told_to_who_may_see_all() -> None:
    desk = Desk()
    for caller, told in ((OWNER, [SessionGone(key=MAIN)]), (ADA, [])):
        feed = desk.list_feed(PersonCaller(principal=caller))
        feed.changed(MAIN)
        assert await ready(feed) == told


async def test_too_many_changes_are_one_gap_after_which_changes_are_told_again() -> None:
    desk = Desk()
    await opened(desk.store)
    feed = desk.list_feed(PersonCaller(principal=OWNER))
    for number in range(2 * MOST_CHANGED):
        feed.changed(SessionKey.named("main", f"n{number}"))
    assert await ready(feed) == [ListGap()]
    await change(desk.store, Pin(key=MAIN, at=1))
    feed.changed(MAIN)
    (item,) = await ready(feed)
    assert isinstance(item, SessionChanged)
    assert item.session.times.pinned == 1


async def test_words_and_changes_come_in_one_row() -> None:
    desk = Desk()
    await opened(desk.store)
    feed = desk.list_feed(PersonCaller(principal=OWNER))
    desk.speak("word", "e1")
    feed.changed(MAIN)
    assert [type(item) for item in await ready(feed)] == [Shown, SessionChanged]
    for number in range(MOST_WAITING + 1):
        piece = SpokenText(key=MAIN, run_id=str(number), answer=1, offset=0, text="x")
        desk.ears.hear(piece, Anchor(EventKind.ENTRY, "e1"))
    assert await ready(feed) == [ListGap()]


class Slow(MemoryStore):
    """A store that gives way before it answers."""

    async def session(self, key: SessionKey) -> Session | None:
        await anyio.lowlevel.checkpoint()
        return await super().session(key)

    async def events(self, key: SessionKey, *, after: int, limit: int) -> tuple[Event, ...]:
        found = await super().events(key, after=after, limit=limit)
        await anyio.lowlevel.checkpoint()
        return found


async def test_who_stops_listening_in_the_middle_of_a_look_looks_again() -> None:
    desk = Desk()
    desk.store = Slow(desk.clock)
    await opened(desk.store)
    feed, listing = desk.feed(after=1), desk.list_feed(PersonCaller(principal=OWNER))
    await desk.append("e1")
    feed.changed(MAIN)
    listing.changed(MAIN)
    for items in (feed, listing):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anext(items)
    assert names(await ready(feed)) == ["e1"]
    assert [type(item) for item in await ready(listing)] == [SessionChanged]


async def test_what_changes_while_it_is_read_is_told_again() -> None:
    desk = Desk()
    desk.store = Slow(desk.clock)
    await opened(desk.store)
    feed = desk.list_feed(PersonCaller(principal=OWNER))
    feed.changed(MAIN)
    async with anyio.create_task_group() as group:
        group.start_soon(anext, feed)
        await anyio.lowlevel.checkpoint()
        feed.changed(MAIN)
    assert [type(item) for item in await ready(feed)] == [SessionChanged]


class SlowToRead:
    """A store that says something while a session is read from it."""

    def __init__(self, inner: Store, meanwhile: Callable[[], None]) -> None:
        self._inner = inner
        self._meanwhile = meanwhile

    async def session(self, key: SessionKey) -> Session | None:
        found = await self._inner.session(key)
        self._meanwhile()
        return found


async def test_what_is_said_while_a_change_is_read_comes_before_the_change() -> None:
    desk = Desk()
    await opened(desk.store)
    words = ["word"]

    def speak() -> None:
        if words:
            desk.speak(words.pop(), "e1")

    slow = cast("Store", SlowToRead(desk.store, speak))
    feed = ListFeed(slow, PersonCaller(principal=OWNER), desk.ears, desk.replay, desk.speaking.__contains__)
    feed.changed(MAIN)
    assert [type(item) for item in await ready(feed)] == [Shown, SessionChanged]


@pytest.mark.parametrize(("principal", "told"), [(OWNER, [SessionTouched]), (ADA, [])])
async def test_a_session_that_is_not_followed_is_not_read(principal: Principal, told: list[type]) -> None:
    desk = Desk()
    await opened(desk.store)
    interest, reads = {MAIN: Interest.TOUCH}, list[str]()
    desk.store = cast("Store", SlowToRead(desk.store, lambda: reads.append("read")))
    feed = desk.list_feed(PersonCaller(principal=principal), interest.__getitem__)
    feed.changed(MAIN)
    assert ([type(item) for item in await ready(feed)], reads) == (told, [])
    interest[MAIN] = Interest.STATE
    feed.changed(MAIN)
    await ready(feed)
    assert reads == ["read"]


async def test_what_nobody_is_interested_in_when_it_changes_is_passed_over() -> None:
    desk = Desk()
    await opened(desk.store)
    interest = {MAIN: Interest.NONE}
    feed = desk.list_feed(PersonCaller(principal=OWNER), interest.__getitem__)
    feed.changed(MAIN)
    interest[MAIN] = Interest.STATE
    assert await ready(feed) == []
    feed.changed(MAIN)
    assert [type(item) for item in await ready(feed)] == [SessionChanged]


async def test_a_run_is_expected_while_it_speaks_and_until_its_last_word_was_heard() -> None:
    desk = Desk()
    feed = desk.list_feed(PersonCaller(principal=OWNER))
    desk.speaking.add("r")
    assert feed.expects("r")
    desk.speak("word", "e1")
    desk.speaking.clear()
    assert feed.expects("r")
    assert await ready(feed) != []
    assert not feed.expects("r")
