"""Sessions that spawn others, from a message on a channel to what the chat is told in the end."""

import re
from collections import defaultdict

import anyio
import pytest

from roost.core.exchanges import CompletionStatus
from roost.core.leases import Gateway
from roost.core.messages import ToolResult, text_of
from roost.core.models import ModelRequest
from roost.core.routing import RoutingRules
from roost.core.runs import Lane
from roost.core.scopes import DmScope
from roost.core.sessions import SessionStatus
from roost.core.topics import Topic, TopicKind
from roost.core.turntaking import Limits
from roost.testing.scripts import Hang, Say, Script, Until
from tests.flows.gateways import BOB
from tests.flows.nursery import (
    MAIN,
    Nursery,
    announcing,
    call,
    hears_of_ends,
    newest,
    results,
    said_to,
    spawns,
    task_of,
    until_at_rest,
)
from tests.scale import count

GATEWAY = Gateway(name="flow", holder="flow")


@pytest.mark.requirement("D23", "D26", "D27", "D29", "D65")
async def test_a_child_does_its_task_and_the_chat_is_told(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("Result: five\nNotes: slowly")]
        if task_of(request):
            return [Until(nursery.answered), Say("1 2 3 4 5")]
        if isinstance(newest(request), ToolResult):
            return [Say("It has begun.")]
        return spawns("count to 5", label="counter")

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("spawn a helper")
        await nursery.until_answered("It has begun.")
        first, announced = (await nursery.bench.replies(at_least=2))[:2]
    (child,) = await nursery.descendants()
    assert first == "It has begun."
    lines = announced.splitlines()
    assert lines[:3] == ["Status: success", "Result: five", "Notes: slowly"]
    assert re.match(r"Stats: runtime \d+s • tokens ", lines[3])
    assert f"session {child.key} • id {child.session_id}" in lines[3]
    told = next(request for request in nursery.bench.model.requests if task_of(request))
    assert "Subagent Context] This session is a sub-agent at depth 1/3" in said_to(told)
    assert child.lineage.parent == MAIN
    assert child.labels.label == "counter"
    assert await nursery.bench.store.completions(MAIN) == ()


async def test_a_model_that_names_every_call_alike_gets_a_child_for_each(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return [Hang()]
        begun = len(results(request))
        return spawns(["count", "mail"][begun]) if begun < 2 else [Say("Both.")]

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("two things")
        await nursery.bench.replies()
        children = {str(child.key) for child in await nursery.descendants()}
        assert {one["childSessionKey"] for one in results(nursery.newest_of_main())} == children
        assert len(children) == 2
        await nursery.bench.say("/stop")


@pytest.mark.requirement("D63")
async def test_a_turn_that_yields_goes_on_once_with_all_that_was_found(nursery: Nursery) -> None:
    yielded_to = anyio.Event()

    def act(request: ModelRequest) -> Script:
        if task := task_of(request):
            return [Until(yielded_to), Say(f"found {task}")]
        if hears_of_ends(request):
            return [Say("All is found.")]
        return [*spawns("a", "b", "c"), call("sessions_yield", message="then sum up")]

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("find three things")
        await nursery.bench.model.asked(4)
        await until_at_rest(nursery.bench.store)
        yielded_to.set()
        assert await nursery.bench.replies() == ("All is found.",)
    last = nursery.bench.model.requests[-1]
    for task in "abc":
        assert f"Result: found {task}" in said_to(last)
    yielded = results(last)[-1]
    assert (yielded["status"], yielded["message"]) == ("yielded", "then sum up")
    assert set(yielded["pendingChildren"]) == {str(child.key) for child in await nursery.descendants()}


@pytest.mark.requirement("D25")
async def test_only_so_many_children_are_at_work_at_once(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return [Hang()]
        if isinstance(newest(request), ToolResult):
            return [Say("There.")]
        return spawns(*"abcdef")

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("six")
        await nursery.bench.replies()
        *accepted, last = results(nursery.newest_of_main())
        assert {one["status"] for one in accepted} == {"accepted"}
        assert last["status"] == "forbidden"
        assert "maxChildrenPerAgent" in last["error"]
        assert len(await nursery.descendants()) == 5
        await nursery.bench.say("/stop")
        assert "Stopped 5 sub-agents." in (await nursery.bench.replies(at_least=2))[1]
    assert await nursery.bench.store.completions(MAIN) == ()


@pytest.mark.requirement("D64")
async def test_children_are_listed_steered_waited_for_and_killed(nursery: Nursery) -> None:
    steered_it = anyio.Event()

    def child(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("ANNOUNCE_SKIP")]
        if "be quick" in said_to(request):
            return [Say("quickly done")]
        if task_of(request) == "forever":
            return [Hang()]
        return [Until(steered_it), call("subagents", action="list")]

    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return child(request)
        named = call("sessions_spawn", "n", task="steered", taskName="second")
        steps: dict[int, Script] = {
            0: [*spawns("forever", label="first"), named],
            2: [call("subagents", "l", action="list")],
            3: [call("subagents", "s", action="steer", target="second", message="be quick")],
            4: [call("subagents", "w", action="wait", target="second")],
            5: [call("subagents", "k", action="kill", target="first")],
        }
        done = len(results(request))
        if done == 4:
            steered_it.set()
        return steps.get(done, [Say("Done.")])

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.bench.replies()
        *_, listed, steered, waited, killed = results(nursery.newest_of_main())
    assert {view["task"] for view in listed["active"]} == {"forever", "steered"}
    assert (listed["total"], listed["callerIsSubagent"]) == (2, False)
    assert (steered["status"], steered["mode"]) == ("accepted", "steered")
    assert waited["status"] == "ok"
    assert [view.get("result") for view in waited["children"]] == ["quickly done"]
    assert (killed["status"], killed["cascadeKilled"], len(killed["runIds"])) == ("ok", 0, 1)
    assert "stillEnding" not in killed


@pytest.mark.requirement("P23")
async def test_with_one_place_for_children_a_grandchild_still_gets_its_turn(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("Result: two levels down")]
        if "A sub-agent has ended" in said_to(request):
            return [Say("the grandchild is done")]
        match task_of(request):
            case "grandchild":
                return [Say("deep")]
            case "child":
                return [*spawns("grandchild"), call("sessions_yield")]
            case _:
                done = isinstance(newest(request), ToolResult)
                return [Say("Begun.")] if done else spawns("child")

    nursery.act = act
    nursery.bench.change(limits=Limits(ceiling=1, lanes={Lane.SUBAGENT: 1, Lane.MAIN: 1}))
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go deep")
        replies = await nursery.bench.replies(at_least=2)
    assert "two levels down" in replies[1]
    assert [child.lineage.depth for child in await nursery.descendants()] == [1, 2]


@pytest.mark.requirement("P23")
async def test_with_one_place_a_caller_that_waits_leaves_it_to_whom_it_waits_for(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("ANNOUNCE_SKIP")]
        match (task_of(request), len(results(request))):
            case ("grandchild", _):
                return [Say("deep")]
            case ("child", 0) | (None, 0):
                return spawns("grandchild" if task_of(request) else "child")
            case (_, 1):
                return [call("subagents", "w", action="wait", target="last")]
            case _:
                return [Say(f"heard: {results(request)[1]['children'][0]['result']}")]

    nursery.act = act
    nursery.bench.change(limits=Limits(ceiling=1, lanes={Lane.SUBAGENT: 1, Lane.MAIN: 1}))
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go deep and wait")
        assert await nursery.bench.replies() == ("heard: heard: deep",)


@pytest.mark.requirement("P23")
async def test_many_children_of_one_session_delay_the_first_of_another_by_one_place_at_most(
    nursery: Nursery,
) -> None:
    many, begun = count(60, 500), list[str]()
    doors: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)
    nursery.children = many

    def act(request: ModelRequest) -> Script:
        match task_of(request):
            case None if "all" in said_to(request):
                done = len(results(request))
                names = range(done, min(done + 100, many))
                more = [call("sessions_spawn", f"c{name}", task=f"busy {name}") for name in names]
                return more or [Say("Begun.")]
            case None:
                return [Say("Begun.")] if results(request) else spawns("quick")
            case _ if announcing(request):
                return [Say("ANNOUNCE_SKIP")]
            case task:
                begun.append(task)
                return [Until(doors[task]), Say("done")]

    nursery.act = act
    nursery.bench.change(
        limits=Limits(ceiling=8, lanes={Lane.SUBAGENT: 2}),
        routing=RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER),
        stream_idle_ms=3_600_000,
    )
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("all of it")
        await nursery.bench.replies()
        await nursery.bench.say("one thing", BOB)
        await nursery.bench.replies(BOB)
        assert sorted(begun) == ["busy 0", "busy 1"]
        for ended in ("busy 0", "busy 2"):
            if "quick" in begun:
                break
            known = len(begun)
            doors[ended].set()
            while len(begun) == known:
                await nursery.bench.model.asked(len(nursery.bench.model.requests) + 1)
        assert "quick" in begun[:4]
    assert len(await nursery.descendants()) == many + 1


@pytest.mark.requirement("D64")
async def test_a_yielded_requester_goes_on_when_the_last_child_it_waits_for_is_killed(
    nursery: Nursery,
) -> None:
    """The child waits for a child of its own: no run of it is left that could end."""

    def act(request: ModelRequest) -> Script:
        if "A sub-agent has ended" in said_to(request):
            assert "Status: killed" in said_to(request)
            return [Say("It was killed.")]
        match task_of(request):
            case "grandchild":
                return [Hang()]
            case "child":
                return [*spawns("grandchild"), call("sessions_yield")]
            case _:
                return [*spawns("child", label="child"), call("sessions_yield")]

    async def yielded() -> bool | None:
        return True if (await nursery.descendants())[0].status is SessionStatus.DONE else None

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.bench.model.asked(3)
        await nursery.bench.store.wait_for(Topic(TopicKind.RUNS), yielded)
        await nursery.bench.say("/subagents kill child")
        replies = await nursery.bench.replies(at_least=2)
    assert set(replies) == {"Stopped 2 sub-agents.", "It was killed."}
    assert [row.status for row in await nursery.descendants()] == [SessionStatus.DONE, SessionStatus.KILLED]


@pytest.mark.requirement("D65")
async def test_a_forked_child_begins_with_what_was_said(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("ANNOUNCE_SKIP")]
        if task_of(request):
            return [Say("seen")]
        done = isinstance(newest(request), ToolResult)
        return [Say("Begun.")] if done else spawns("look back", context="fork")

    nursery.act = act
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        await nursery.bench.say("the word is heron")
        await nursery.bench.replies()
        await engine.settled()
    asked = next(one for one in nursery.bench.model.requests if task_of(one) == "look back")
    assert text_of(asked.messages[0]).endswith("the word is heron")
    (child,) = await nursery.descendants()
    own = await nursery.bench.store.entries(child.session_id)
    assert "heron" not in "".join(text_of(one.body) for one in own)  # type: ignore[arg-type]


@pytest.mark.requirement("D25")
async def test_a_child_may_not_spawn_below_the_last_level(nursery: Nursery) -> None:
    nursery.depth = 1

    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("ANNOUNCE_SKIP")]
        if task_of(request):
            done = isinstance(newest(request), ToolResult)
            return [Say(text_of(newest(request)))] if done else spawns("deeper")
        done = isinstance(newest(request), ToolResult)
        return [Say("Begun.")] if done else spawns("child")

    nursery.act = act
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.bench.replies()
        await engine.settled()
    told = nursery.bench.model.requests[-2]
    assert "There is no tool 'sessions_spawn' here" in text_of(told.messages[-1])
    assert [child.lineage.depth for child in await nursery.descendants()] == [1]


@pytest.mark.requirement("D27")
async def test_a_child_that_waits_for_its_own_without_yielding_reports_what_they_found(
    nursery: Nursery,
) -> None:
    shared_out = anyio.Event()

    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("Result: 42")]
        if "All 2 sub-agents have ended" in said_to(request):
            return [Say("the answer is 42")]
        begun = isinstance(newest(request), ToolResult)
        match task_of(request):
            case "child":
                return [Say("I have begun and will report.")] if begun else spawns("one", "two")
            case None:
                return [Say("Begun.")] if begun else spawns("child")
            case _:
                return [Until(shared_out), Say("found")]

    async def said() -> bool | None:
        return True if (await nursery.descendants())[0].status is SessionStatus.DONE else None

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.bench.model.asked(6)
        await nursery.bench.store.wait_for(Topic(TopicKind.RUNS), said)
        (owed,) = await nursery.bench.store.completions(MAIN)
        assert owed.status is CompletionStatus.PENDING
        await nursery.until_answered()
        shared_out.set()
        replies = await nursery.bench.replies(at_least=2)
    assert [text.splitlines()[:2] for text in replies] == [["Begun."], ["Status: success", "Result: 42"]]
