"""The laws of the feed: what is stored is heard whole and in order, and what is silent is never heard at all."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.events import Event
from roost.core.feeds import FeedItem, Gap
from roost.core.messages import ToolCall
from roost.core.models import ModelRef
from roost.core.previews import SpokenText
from roost.core.principals import OWNER
from roost.core.sentinels import Sentinel, is_silent, strip_trailing
from roost.core.visibility import PersonCaller
from roost.engine.ears import MOST_WAITING, PACE_MS
from roost.engine.feed import Feed
from roost.engine.voice import Holdback, Voice
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.contract.scenes import opened
from tests.scale import examples
from tests.waiting import until_all_wait

ME = PersonCaller(principal=OWNER)
MODEL = ModelRef("scripted", "one")

fragments = st.one_of(
    st.sampled_from(
        [*Sentinel, "NO", "_REPLY", "no_reply", " ", "\n", "`", ".", "**", "Done.", "x", "\u00e9"]
    ),
    st.sampled_from(Sentinel).flatmap(lambda one: st.integers(1, len(one)).map(lambda size: one[:size])),
    st.text(max_size=5),
)


@settings(max_examples=examples(80, 5_000), deadline=None)
@given(st.lists(fragments, max_size=12), st.data())
def test_wherever_a_text_is_split_nothing_silent_is_shown_and_all_else_is(
    parts: list[str], data: st.DataObject
) -> None:
    whole = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    seen = "" if is_silent(whole) else strip_trailing(whole)
    holdback, shown = Holdback(), ""
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        shown += holdback.add(whole[start:end])
        # Space that was shown before a sentinel came says nothing.
        assert whole.startswith(shown)
        assert len(shown.rstrip()) <= len(seen)
    shown += holdback.end(shown)
    assert shown.rstrip() == seen.rstrip()
    assert shown.startswith(seen)


class Listener:
    """A client: it keeps what it hears, puts pieces where they belong and comes back with the number it knows."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._stack = AsyncExitStack()
        self.numbers: list[int] = []
        self.text: dict[int, str] = {}
        self.broken = False

    async def come(self) -> None:
        after = self.numbers[-1] if self.numbers else 0
        self._items = await self._stack.enter_async_context(self._feed.subscribe(MAIN, ME, after=after))

    async def leave(self) -> None:
        await self._stack.aclose()

    async def listen(self, most: int) -> None:
        for _ in range(most):
            found: list[FeedItem] = []
            async with anyio.create_task_group() as group:
                group.start_soon(self._take, found)
                await until_all_wait()
                group.cancel_scope.cancel()
            if not found:
                return
            self._keep(found[0])

    async def _take(self, found: list[FeedItem]) -> None:
        found.append(await anext(self._items))

    def _keep(self, item: FeedItem) -> None:
        match item:
            case Event():
                self.numbers.append(item.number)
            case SpokenText():
                known = self.text.get(item.answer, "")
                self.broken = self.broken or item.offset not in (0, len(known))
                self.text[item.answer] = known[: item.offset] + item.text
            case Gap():
                assert item.after == (self.numbers[-1] if self.numbers else 0)
            case _:
                pass


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(self.clock)
        self.feed = Feed(self.store, self.clock)
        self.listener = Listener(self.feed)
        self.entries, self.words, self.answers = 0, "", 0

    async def commit(self, voice: Voice) -> None:
        self.entries += 1
        await self.store.append(MAIN, (builders.said(f"e{self.entries}", "x"),))
        voice.kept(f"e{self.entries}")
        voice.asked(MODEL)
        self.words, self.answers = "", self.answers + 1

    async def speak(self, voice: Voice) -> None:
        word = f"w{len(self.words)} "
        self.words += word
        voice.text(word)

    async def flood(self, voice: Voice) -> None:
        for number in range(MOST_WAITING + 1):
            voice.tool_began(ToolCall(id=str(number % 3), name="exec", arguments={}))

    async def act(self, action: str, voice: Voice) -> None:
        acts: dict[str, Callable[[Voice], Awaitable[None]]] = {
            "commit": self.commit,
            "speak": self.speak,
            "flood": self.flood,
        }
        match action:
            case "hear one" | "hear all":
                await self.listener.listen(1 if action == "hear one" else 1000)
            case "reconnect":
                await self.listener.leave()
                await self.listener.come()
            case "wait":
                self.clock.advance(PACE_MS)
            case _:
                await acts[action](voice)


async def play(actions: list[str]) -> World:
    world = World()
    await opened(world.store)
    with world.feed.speaking(builders.run("r")) as voice:
        voice.begin(builders.session())
        await world.listener.come()
        await world.commit(voice)
        for action in actions:
            await world.act(action, voice)
        voice.said()
        for _ in range(3):
            world.clock.advance(PACE_MS)
            await world.listener.listen(10_000)
        await world.listener.leave()
    return world


ACTIONS = ["commit", "speak", "speak", "flood", "hear one", "hear one", "hear all", "reconnect", "wait"]


@settings(max_examples=examples(50, 1_500), deadline=None)
@given(st.lists(st.sampled_from(ACTIONS), max_size=30))
def test_whatever_was_missed_the_stored_events_are_heard_once_each_in_order_and_the_words_are_whole(
    actions: list[str],
) -> None:
    world = asyncio.run(play(actions))
    listener = world.listener
    truth = asyncio.run(world.store.events(MAIN, after=0, limit=1000))
    assert listener.numbers == [event.number for event in truth]
    assert not listener.broken
    assert listener.text.get(world.answers, "").rstrip() == world.words.rstrip()
