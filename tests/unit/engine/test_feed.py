import gc
import weakref
from itertools import pairwise

import anyio
import pytest
from anyio.lowlevel import checkpoint

from roost.core.errors import Forbidden, NotFound, RoostError
from roost.core.events import Event, EventKind
from roost.core.feeds import FeedItem, ListGap, ListItem, SessionChanged, Shown
from roost.core.keys import SessionKey
from roost.core.previews import Preview, RunBegan, RunOver, SpokenText, ToolOver, ToolPrinted
from roost.core.principals import OWNER, person
from roost.core.runs import Request
from roost.core.visibility import AgentCaller, Caller, PersonCaller
from roost.engine.ears import MOST_WAITING, PACE_MS
from roost.engine.feed import Feed
from roost.engine.rulebook import Rulebook
from roost.engine.runner import Runner
from roost.engine.stops import Stops
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.scripts import Hang, Say, Script, Until, calls
from tests.contract.scenes import opened
from tests.unit.engine.scenes import Doing, Scene, call
from tests.waiting import until_all_wait

SIDE = SessionKey.named("main", "side")
ME = PersonCaller(principal=OWNER)
ADA = PersonCaller(principal=person("loopback", "ada"))


class Listening(Scene):
    """A scene with a feed, and someone who listens to it."""

    def feed(self) -> Feed:
        return Feed(self.store, self.clock)

    async def run(self, feed: Feed, *script: Script) -> None:
        self.model.add(*script)
        run = await self.claimed(request=Request(reply_to=CHAT))
        await Runner(self.store, self.clock, Rulebook(self.rules), Stops(), feed).run(run)


async def until_over(feed: Feed, found: list[FeedItem], started: anyio.Event) -> None:
    async with feed.subscribe(MAIN, ME, after=0) as items:
        started.set()
        async for item in items:
            found.append(item)
            if isinstance(item, RunOver):
                return


def spoken(item: ListItem) -> Preview | None:
    return item.preview if isinstance(item, Shown) else None


async def test_a_turn_is_heard_in_the_order_in_which_it_happened() -> None:
    scene = Listening()
    feed, found = scene.feed(), list[FeedItem]()

    async def acts() -> str:
        return "result"

    scene.tools = (Doing("act", acts),)
    async with anyio.create_task_group() as group:
        started = anyio.Event()
        group.start_soon(until_over, feed, found, started)
        await started.wait()
        await scene.run(feed, (Say("Let me see."), *calls(call("act"))), (Say("All done."),))
    kinds = [item.kind if isinstance(item, Event) else type(item).__name__ for item in found]
    assert kinds == [
        EventKind.SESSION_OPENED,
        EventKind.RUN_QUEUED,
        EventKind.INPUT_ACCEPTED,
        EventKind.RUN_STARTED,
        "RunBegan",
        EventKind.INPUT_TAKEN,
        EventKind.ENTRY,
        "ModelAsked",
        "SpokenText",
        EventKind.ENTRY,
        "ToolBegan",
        "ToolPrinted",
        "ToolOver",
        EventKind.ENTRY,
        "ModelAsked",
        "SpokenText",
        EventKind.SESSION_CHANGED,
        EventKind.ENTRY,
        EventKind.DELIVERY,
        EventKind.RUN_ENDED,
        "RunOver",
    ]
    numbers = [item.number for item in found if isinstance(item, Event)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [item.text for item in found if isinstance(item, SpokenText | ToolPrinted)] == [
        "Let me see.",
        "under way",
        "All done.",
    ]
    assert [item.outcome.is_error for item in found if isinstance(item, ToolOver)] == [False]


async def test_words_come_apart_by_the_pace_and_nothing_is_lost_between() -> None:
    scene = Listening()
    feed = scene.feed()
    heard: list[tuple[int, str]] = []
    gates = [anyio.Event() for _ in range(40)]
    script: Script = tuple(step for gate in gates for step in (Until(gate), Say("word ")))

    async def listen() -> None:
        async with feed.subscribe(MAIN, ME) as items:
            async for item in items:
                if isinstance(item, SpokenText):
                    heard.append((scene.clock.now(), item.text))
                if isinstance(item, RunOver):
                    break

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        group.start_soon(scene.run, feed, script)
        for gate in gates:
            await until_all_wait()
            scene.clock.advance(10)
            await until_all_wait()
            gate.set()
    assert "".join(text for _, text in heard).split() == ["word"] * 40
    times = [at for at, _ in heard[:-1]]
    assert all(later - earlier >= PACE_MS for earlier, later in pairwise(times))
    assert 5 <= len(heard) <= 10


async def test_who_comes_in_the_middle_hears_the_whole_and_who_never_listens_holds_nobody_up() -> None:
    scene = Listening()
    feed, release = scene.feed(), anyio.Event()
    async with anyio.create_task_group() as group, feed.subscribe(MAIN, ME):
        group.start_soon(scene.run, feed, (Say("The be"), Until(release), Say("ginning.")))
        await until_all_wait()
        async with feed.subscribe(MAIN, ME) as late:
            assert isinstance(await anext(late), RunBegan)
            await anext(late)
            piece = await anext(late)
            assert isinstance(piece, SpokenText)
            assert (piece.offset, piece.text) == (0, "The be")
            release.set()
            words = [piece.text]
            while not isinstance(item := await anext(late), RunOver):
                words += [item.text] if isinstance(item, SpokenText) else []
            assert "".join(words) == "The beginning."


async def test_many_listeners_hear_the_same() -> None:
    scene = Listening()
    feed = scene.feed()
    found: list[list[FeedItem]] = [[] for _ in range(50)]
    async with anyio.create_task_group() as group:
        for heard in found:
            started = anyio.Event()
            group.start_soon(until_over, feed, heard, started)
            await started.wait()
        await scene.run(feed, (Say("Hello"), Say(" all")))
    assert all(heard == found[0] for heard in found)
    assert len(found[0]) > 5


async def test_a_listener_that_breaks_does_not_touch_the_run_and_leaves_nothing_behind() -> None:
    scene = Listening()
    feed = scene.feed()
    kept: list[weakref.ref[object]] = []

    async def breaks() -> None:
        async with feed.subscribe(MAIN, ME) as items, feed.subscribe_all(ME) as everything:
            kept.extend((weakref.ref(items), weakref.ref(everything)))
            async for _ in items:
                raise ZeroDivisionError

    async def broken() -> None:
        with pytest.raises(ZeroDivisionError):
            await breaks()

    async with anyio.create_task_group() as group:
        group.start_soon(broken)
        await until_all_wait()
        await scene.run(feed, (Say("Hello"),))
    gc.collect()
    assert [ref() for ref in kept] == [None, None]
    run = await scene.store.run("r1")
    assert run is not None
    assert run.outcome is not None
    assert run.outcome.succeeded


async def test_everything_that_is_said_anywhere_is_heard_by_who_may_see_it_all() -> None:
    scene = Listening()
    feed = scene.feed()
    async with feed.subscribe_all(ME) as mine, feed.subscribe_all(ADA) as hers:
        await scene.run(feed, (Say("Hello"),))
        found = []
        while not isinstance(item := spoken(await anext(mine)), RunOver):
            found.append(type(item).__name__)
        assert "SpokenText" in found
        assert isinstance(await anext(mine), SessionChanged)
        with anyio.move_on_after(0) as nothing:
            await anext(hers)
        assert nothing.cancelled_caught


@pytest.mark.parametrize(
    ("key", "caller", "refusal", "recorded"),
    [
        (MAIN, ADA, NotFound, [("history", "other_principal", None)]),
        (SessionKey.named("main", "nowhere"), ADA, NotFound, []),
        (
            MAIN,
            AgentCaller(agent="main", key=SIDE, principal=OWNER),
            Forbidden,
            [("history", "tree_visibility_restricted", SIDE)],
        ),
    ],
)
async def test_who_may_not_read_a_session_may_not_listen_to_it_and_that_is_recorded(
    key: SessionKey,
    caller: Caller,
    refusal: type[RoostError],
    recorded: list[tuple[str, str, SessionKey | None]],
) -> None:
    scene = Listening()
    await opened(scene.store)
    with pytest.raises(refusal):
        async with scene.feed().subscribe(key, caller):
            pass
    denials = await scene.store.denials(10)
    assert [(one.operation, one.rule, one.caller) for one in denials] == recorded


async def test_an_agent_may_listen_to_what_it_spawned_and_a_person_to_their_own() -> None:
    scene = Listening()
    await opened(scene.store)
    await opened(scene.store, row=builders.session(SIDE, owner=ADA.principal, parent=MAIN))
    async with (
        scene.feed().subscribe(
            SIDE, AgentCaller(agent="main", key=MAIN, principal=OWNER), after=0
        ) as spawned,
        scene.feed().subscribe(SIDE, ADA, after=0) as own,
    ):
        for items in (spawned, own):
            first = await anext(items)
            assert isinstance(first, Event)
            assert first.kind is EventKind.SESSION_OPENED


async def test_a_listener_who_left_in_the_middle_is_no_longer_told() -> None:
    scene = Listening()
    feed = scene.feed()
    async with anyio.create_task_group() as group:
        async with feed.subscribe_all(ME) as items:
            group.start_soon(scene.run, feed, (Say("half"), Hang()))
            while not isinstance(spoken(await anext(items)), SpokenText):
                pass
        group.cancel_scope.cancel()


@pytest.mark.requirement("P14")
@pytest.mark.parametrize("turns", range(40))
async def test_who_fell_behind_and_comes_back_expects_only_what_will_be_said(turns: int) -> None:
    """After so many turns of the loop: what ended unheard is never waited for, the store tells of it."""
    scene = Listening()
    scene.model.add((Say("Done."),))
    feed, run = scene.feed(), await scene.claimed(request=Request(reply_to=CHAT))
    async with feed.subscribe_all(ME) as items, anyio.create_task_group() as group:
        with feed.speaking(builders.run("loud", SIDE)) as loud:
            loud.begin(builders.session(SIDE))
            for _ in range(MOST_WAITING + 1):
                loud.tool_began(call("act"))
        group.start_soon(Runner(scene.store, scene.clock, Rulebook(scene.rules), Stops(), feed).run, run)
        for _ in range(turns):
            await checkpoint()
        assert isinstance(await anext(items), ListGap)
        with anyio.fail_after(5):
            while items.expects(run.id):
                item = await anext(items)
                if isinstance(spoken(item), RunOver):
                    return
