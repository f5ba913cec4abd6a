"""Work that is spread over two gateways on one PostgreSQL: sessions that ask, spawn, steer and stop others elsewhere."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from roost.core.leases import Gateway
from roost.core.messages import ToolResult
from roost.core.models import ModelRequest
from roost.core.runs import RunState
from roost.core.sessions import Session, SessionStatus
from roost.core.topics import Topic, TopicKind
from roost.core.turntaking import Limits
from roost.engine.gateway import Engine
from roost.ports import Store
from roost.testing.scripts import Hang, Say, Script, Until
from tests.flows.fleets import LONG_S, MAIN, Fleet, ended, say
from tests.flows.nursery import Nursery, call, hears_of_ends, results, said_to, spawns, task_of, until_at_rest
from tests.flows.stages import OPS, replies, result, send, staged
from tests.unit.engine.scenes import Doing

pytestmark = [pytest.mark.timeout(2 * LONG_S), pytest.mark.requirement("P30")]

RUNS = Topic(TopicKind.RUNS)


async def until_waiting(store: Store) -> None:
    """Return once the turn of the main session waits for others."""

    async def waits() -> bool | None:
        return True if any(run.waiting for run in await store.active_runs(MAIN)) else None

    await store.wait_for(RUNS, waits)


# -- one session asks another ------------------------------------------------------------------------


async def test_a_session_at_one_gateway_asks_one_at_another_and_has_its_reply(fleet: Fleet) -> None:
    fleet.share()
    here, there = staged(fleet.here), staged(fleet.there)
    asking = here.play(
        MAIN, send(agentId="ops", message="how many?", timeoutSeconds=LONG_S), (Say("Ops says three."),)
    )
    stepping = there.play(MAIN, otherwise=replies("", turn="REPLY_SKIP"))
    go_on = anyio.Event()
    asked = there.play(OPS, (Until(go_on), Say("three")), otherwise=replies(""))
    async with fleet.serving():
        await fleet.here.say("ask ops")
        await asked.asked(1)
        await until_waiting(fleet.there.store)
        go_on.set()
        assert await fleet.here.replies() == ("Ops says three.",)
        exchange = await there.over()
    told = result(asking, 1)
    assert (told["status"], told["reply"], told["messageId"]) == ("ok", "three", exchange.id)
    assert len(asking.requests) == 2
    assert len(stepping.requests) == 1


async def test_a_session_that_waits_has_the_reply_when_the_gateway_that_was_to_answer_has_gone(
    fleet: Fleet,
) -> None:
    fleet.share()
    here, there = staged(fleet.here), staged(fleet.there)
    asking = here.play(
        MAIN,
        send(agentId="ops", message="how many?", timeoutSeconds=LONG_S),
        (Say("Ops says three."),),
        otherwise=replies(""),
    )
    left = there.play(OPS, (Say("thr"), Hang()))
    answers = here.play(OPS, otherwise=replies("three"))
    async with fleet.here.serving("here") as (engine, _):
        async with fleet.there.serving("there"):
            await fleet.here.say("ask ops")
            await left.asked(1)
        await engine.reload(replace(engine.rules, limits=Limits(ceiling=8)))
        assert await fleet.here.replies() == ("Ops says three.",)
        await here.over()
    assert result(asking, 1)["reply"] == "three"
    assert len(left.requests) == 1
    assert len(answers.requests) == 2


# -- children ----------------------------------------------------------------------------------------


class Pair:
    """People's turns are taken up `here`, children `there`."""

    def __init__(self, fleet: Fleet) -> None:
        fleet.share()
        self.fleet = fleet
        self.here = Nursery(fleet.here, lambda request: [Say("nothing")])
        self.there = Nursery(fleet.there, lambda request: [Say("nothing")])

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[tuple[Engine, Engine]]:
        here, there = self.here.engine(), self.there.engine()
        async with (
            here.serving(Gateway(name="here", holder="here")),
            there.serving(Gateway(name="there", holder="there")),
        ):
            yield here, there

    async def children(self, *statuses: SessionStatus) -> list[Session]:
        """All that were spawned, once they stand so."""

        async def stand() -> list[Session] | None:
            rows = await self.here.descendants()
            return rows if rows and all(row.status in statuses for row in rows) else None

        return await self.here.bench.store.wait_for(RUNS, stand)


@pytest.fixture
def pair(fleet: Fleet) -> Pair:
    return Pair(fleet)


def told_by_tools(request: ModelRequest) -> int:
    return sum(isinstance(one, ToolResult) for one in request.messages)


async def test_a_child_is_at_work_at_another_gateway_and_the_chat_is_told(pair: Pair) -> None:
    told = anyio.Event()

    def child(request: ModelRequest) -> Script:
        done = "Your task is done" in said_to(request)
        return [Until(told), Say("Result: five" if done else "1 2 3 4 5")]

    pair.here.act = lambda request: [Say("Begun.")] if told_by_tools(request) else spawns("count")
    pair.there.act = child
    async with pair.serving():
        await pair.fleet.here.say("go")
        await pair.fleet.here.replies()
        told.set()
        first, announced = await pair.fleet.here.replies(at_least=2)
    assert first == "Begun."
    assert announced.splitlines()[:2] == ["Status: success", "Result: five"]
    assert {task_of(request) for request in pair.fleet.here.model.requests} == {None}
    assert {task_of(request) for request in pair.fleet.there.model.requests} == {"count"}
    assert await pair.fleet.there.store.completions(MAIN) == ()


async def test_a_turn_that_yields_goes_on_when_children_at_another_gateway_have_ended(pair: Pair) -> None:
    yielded = anyio.Event()

    def turn(request: ModelRequest) -> Script:
        if hears_of_ends(request):
            return [Say("All is found.")]
        return [*spawns("a", "b"), call("sessions_yield", message="then sum up")]

    pair.here.act = turn
    pair.there.act = lambda request: [Until(yielded), Say(f"found {task_of(request)}")]
    async with pair.serving():
        await pair.fleet.here.say("find two things")
        await pair.fleet.there.model.asked(2)
        await until_at_rest(pair.fleet.here.store)
        yielded.set()
        assert await pair.fleet.here.replies() == ("All is found.",)
    summed = pair.fleet.here.model.requests[-1]
    assert all(f"Result: found {task}" in said_to(summed) for task in "ab")


async def test_who_waits_for_a_child_at_another_gateway_hears_what_it_said(pair: Pair) -> None:
    go_on = anyio.Event()

    def turn(request: ModelRequest) -> Script:
        match told_by_tools(request):
            case 0:
                return spawns("look")
            case 1:
                return [call("subagents", action="wait", target="all", timeoutSeconds=60)]
            case _:
                return [Say("There.")]

    pair.here.act = turn
    pair.there.act = lambda request: [Until(go_on), Say("a zebra")]
    async with pair.serving():
        await pair.fleet.here.say("go")
        await pair.fleet.there.model.asked(1)
        await until_waiting(pair.fleet.there.store)
        go_on.set()
        # What it found may be told in the chat before the turn goes on.
        await pair.fleet.here.model.asked(3)
    waited = results(pair.here.newest_of_main())[-1]
    assert (waited["status"], waited["children"][0]["result"]) == ("ok", "a zebra")


async def test_a_child_at_another_gateway_is_steered(pair: Pair) -> None:
    at_work, go_on = anyio.Event(), anyio.Event()

    async def linger() -> str:
        at_work.set()
        await go_on.wait()
        return "done"

    def turn(request: ModelRequest) -> Script:
        match told_by_tools(request):
            case 0:
                return spawns("look")
            case 1:
                return [Until(at_work), call("subagents", action="steer", target="1", message="only zebras")]
            case _:
                return [Say("Told.")]

    def child(request: ModelRequest) -> Script:
        return [Say("so be it")] if told_by_tools(request) else [call("linger")]

    pair.here.act, pair.there.act = turn, child
    pair.there.more = (Doing("linger", linger),)
    async with pair.serving():
        await pair.fleet.here.say("go")
        assert (await pair.fleet.here.replies())[0] == "Told."
        go_on.set()
        await pair.fleet.there.model.asked(2)
    assert results(pair.here.newest_of_main())[-1]["mode"] == "steered"
    assert "only zebras" in said_to(pair.fleet.there.model.requests[1])


async def test_a_child_at_another_gateway_is_killed_in_the_middle_of_its_call(pair: Pair) -> None:
    at_work = anyio.Event()

    def turn(request: ModelRequest) -> Script:
        match told_by_tools(request):
            case 0:
                return spawns("look")
            case 1:
                return [Until(at_work), call("subagents", action="kill", target="all")]
            case _:
                return [Say("Gone.")]

    def child(request: ModelRequest) -> Script:
        at_work.set()
        return [Say("hm"), Hang()]

    pair.here.act, pair.there.act = turn, child
    async with pair.serving():
        await pair.fleet.here.say("go")
        assert await pair.fleet.here.replies() == ("Gone.",)
        await pair.children(SessionStatus.KILLED)
        await pair.fleet.there.model.left()
    killed = results(pair.here.newest_of_main())[-1]
    assert (killed["status"], killed["killed"]) == ("ok", 1)


@pytest.mark.requirement("P27")
@pytest.mark.parametrize("at", ["here", "there"])
async def test_stop_at_either_gateway_ends_a_tree_that_is_spread_over_both(pair: Pair, at: str) -> None:
    at_work, last = anyio.Event(), anyio.Event()

    async def linger() -> str:
        at_work.set()
        await anyio.sleep_forever()
        return ""

    def child(request: ModelRequest) -> Script:
        if task_of(request) == "deeper":
            last.set()
        elif not told_by_tools(request):
            return spawns("deeper")
        return [Hang()]

    pair.here.act = lambda request: [*spawns("deep"), call("linger")]
    pair.here.more = (Doing("linger", linger),)
    pair.there.act = child
    async with pair.serving() as (here, there):
        await say(here, "go")
        await at_work.wait()
        await last.wait()
        await pair.fleet.there.model.asked(3)
        stopped = await say({"here": here, "there": there}[at], "/stop", "m-2")
        assert (await ended(pair.fleet.there.store, "run of m-1")).state is RunState.KILLED
        assert len(await pair.children(SessionStatus.KILLED)) == 2
        await pair.fleet.there.model.left()
    assert stopped.record.answer == "Stopped 3 runs. Cleared 0 waiting messages. Stopped 2 sub-agents."
    assert len(pair.fleet.here.model.requests) == 1
    assert len(pair.fleet.there.model.requests) == 3
