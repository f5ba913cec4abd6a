"""A turn as someone who listens lives through it, over each store."""

import anyio

from roost.core.events import Event, EventKind
from roost.core.feeds import FeedItem, SessionChanged
from roost.core.keys import SessionKey
from roost.core.messages import Text, ToolCall
from roost.core.models import ToolSpec
from roost.core.previews import RunOver, SpokenText, ToolOver, ToolPrinted
from roost.core.principals import OWNER
from roost.core.runs import RunState
from roost.core.sessions import Session
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.core.visibility import PersonCaller
from roost.engine.gateway import Engine
from roost.ports import Report
from roost.testing.scripts import CallTool, Hang, Say, Until
from tests.flows.gateways import Bench

MAIN = SessionKey.named("main", "main")
ME = PersonCaller(principal=OWNER)


class Counts:
    """A tool that shows what it does while it does it."""

    spec = ToolSpec(name="count", description="Counts.", parameters={})
    traits = ToolTraits()

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        for number in range(3):
            await report(f"{number}\n")
        return ToolOutcome(content=(Text("3"),))


async def listen(engine: Engine, found: list[FeedItem], ready: anyio.Event, after: int | None = None) -> None:
    """Until a run is over."""
    async with engine.feed.subscribe(MAIN, ME, after=after) as items:
        ready.set()
        while not (found and isinstance(found[-1], RunOver)):
            found.append(await anext(items))


async def test_a_listener_lives_through_a_turn_and_can_read_the_same_from_the_store(bench: Bench) -> None:
    bench.tools = (Counts(),)
    call = ToolCall(id="c1", name="count", arguments={})
    bench.model.add((Say("Counting."), CallTool(call)), (Say("It is "), Say("three.")))
    found: list[FeedItem] = []
    async with bench.serving() as (engine, _), anyio.create_task_group() as group:
        ready = anyio.Event()
        group.start_soon(listen, engine, found, ready)
        await ready.wait()
        await bench.say("count")
    stored = [item for item in found if isinstance(item, Event)]
    assert tuple(stored) == (await bench.store.events(MAIN, after=0, limit=100))[: len(stored)]
    assert stored[-1].kind is EventKind.RUN_ENDED
    spoken = [item for item in found if isinstance(item, SpokenText)]
    assert "".join(item.text for item in spoken) == "Counting.It is three."
    assert "".join(item.text for item in found if isinstance(item, ToolPrinted)) == "0\n1\n2\n"
    places = {type(item): place for place, item in enumerate(found)}
    entries = [place for place, item in enumerate(found) if isinstance(item, Event) and item.kind == "entry"]
    # The question; the answer with the call; the tool; its result; the last answer.
    assert entries[1] < places[ToolPrinted] < places[ToolOver] < entries[2] < places[SpokenText] < entries[3]


async def test_silence_is_kept_from_who_listens_too(bench: Bench) -> None:
    bench.model.add((Say("NO"), Say("_RE"), Say("PLY")))
    found: list[FeedItem] = []
    async with bench.serving() as (engine, _), anyio.create_task_group() as group:
        ready = anyio.Event()
        group.start_soon(listen, engine, found, ready)
        await ready.wait()
        await bench.say("anything to say?")
    assert not [item for item in found if isinstance(item, SpokenText)]


async def test_a_run_that_is_stopped_is_heard_to_its_end(bench: Bench) -> None:
    bench.model.add((Say("half an answer"), Hang()))
    async with bench.serving() as (engine, _), engine.feed.subscribe(MAIN, ME) as items:
        await bench.say("hi")
        while not isinstance(item := await anext(items), RunOver):
            if isinstance(item, SpokenText):
                engine.stops.end(item.run_id, "enough")
        assert item.run.state is RunState.KILLED
        assert item.words is not None
        assert item.words.error == "enough"


async def test_who_comes_back_with_the_number_it_knows_misses_nothing_stored(bench: Bench) -> None:
    release = anyio.Event()
    bench.model.add((Say("one"), Until(release), Say(" two")))
    async with bench.serving() as (engine, _):
        before: list[Event] = []
        async with engine.feed.subscribe(MAIN, ME) as items:
            await bench.say("hi")
            while not isinstance(item := await anext(items), SpokenText):
                before += [item] if isinstance(item, Event) else []
        release.set()
        await bench.replies()
        async with engine.feed.subscribe(MAIN, ME, after=before[-1].number) as items:
            after: list[Event] = []
            while not after or after[-1].kind is not EventKind.RUN_ENDED:
                item = await anext(items)
                assert isinstance(item, Event)
                after.append(item)
    stored = await bench.store.events(MAIN, after=0, limit=100)
    assert (*before, *after) == stored[: len(before) + len(after)]


async def test_the_list_of_sessions_is_told_of_every_change(bench: Bench) -> None:
    bench.model.add((Say("hello"),))
    async with bench.serving() as (engine, _), engine.feed.subscribe_all(ME) as items:
        await bench.say("hi")
        rows: list[Session] = []
        while not rows or rows[-1].summary.entries < 2:
            item = await anext(items)
            rows += [item.session] if isinstance(item, SessionChanged) else []
    assert {row.key for row in rows} == {MAIN}
    assert rows[-1].summary.preview == "hello"
