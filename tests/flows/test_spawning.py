"""Sessions that spawn others, from a message on a channel to what the chat is told in the end."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from roost.core.exchanges import CompletionStatus
from roost.core.leases import Gateway
from roost.core.messages import ToolResult, text_of
from roost.core.models import ModelRequest
from roost.core.runs import RunKind
from roost.testing.scripts import Hang, Say, Script, Until
from tests.flows.nursery import MAIN, Nursery, call, newest, nurseries, results, said_to, spawns, task_of

GATEWAY = Gateway(name="flow", holder="flow")


@pytest.fixture(params=["memory", "sqlite"])
async def nursery(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Nursery]:
    async with nurseries(request.param, tmp_path, lambda request: [Say("nothing")]) as nursery:
        yield nursery


def announcing(request: ModelRequest) -> bool:
    return "Your task is done" in said_to(request)


@pytest.mark.requirement("D23", "D26", "D27", "D29", "D65")
async def test_a_child_does_its_task_and_the_chat_is_told(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("Result: five\nNotes: slowly")]
        if task_of(request):
            return [Say("1 2 3 4 5")]
        if isinstance(newest(request), ToolResult):
            return [Say("It has begun.")]
        return spawns("count to 5", label="counter")

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("spawn a helper")
        first, announced = (await nursery.bench.replies(at_least=2))[:2]
    (child,) = await nursery.descendants()
    assert first == "It has begun."
    lines = announced.splitlines()
    assert lines[:3] == ["Status: success", "Result: five", "Notes: slowly"]
    assert lines[3].startswith("Stats: runtime 0s • tokens ")
    assert f"session {child.key} • id {child.session_id}" in lines[3]
    told = next(request for request in nursery.bench.model.requests if task_of(request))
    assert "Subagent Context] This session is a sub-agent at depth 1/3" in said_to(told)
    assert child.lineage.parent == MAIN
    assert child.labels.label == "counter"
    assert await nursery.bench.store.completions(MAIN) == ()


@pytest.mark.requirement("D63")
async def test_a_turn_that_yields_goes_on_once_with_all_that_was_found(nursery: Nursery) -> None:
    yielded_to = anyio.Event()

    def act(request: ModelRequest) -> Script:
        if task := task_of(request):
            return [Until(yielded_to), Say(f"found {task}")]
        if "sub-agents have ended" in said_to(request):
            return [Say("All is found.")]
        return [*spawns("a", "b", "c"), call("sessions_yield", message="then sum up")]

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("find three things")
        await nursery.bench.model.asked(4)
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
        *accepted, last = results(nursery.bench.model.requests[-1])
        assert {one["status"] for one in accepted} == {"accepted"}
        assert last["status"] == "forbidden"
        assert "maxChildrenPerAgent" in last["error"]
        assert len(await nursery.descendants()) == 5
        await nursery.bench.say("/stop")
        assert "Stopped 5 sub-agents." in (await nursery.bench.replies(at_least=2))[1]
    assert await nursery.bench.store.completions(MAIN) == ()


@pytest.mark.requirement("D64")
async def test_children_are_listed_steered_waited_for_and_killed(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if "be quick" in said_to(request):
            return [Say("quickly done")]
        if task := task_of(request):
            if announcing(request):
                return [Say("ANNOUNCE_SKIP")]
            again = isinstance(newest(request), ToolResult)
            return [Hang()] if task == "forever" or again else [call("subagents", action="list")]
        match len(results(request)):
            case 0:
                return spawns("forever", "steered", label="x")
            case 2:
                return [call("subagents", "l", action="list")]
            case 3:
                return [call("subagents", "s", action="steer", target="2", message="be quick")]
            case 4:
                return [call("subagents", "w", action="wait", target="#2")]
            case 5:
                return [call("subagents", "k", action="kill", target="1")]
            case _:
                return [Say("Done.")]

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.bench.replies()
        *_, listed, steered, waited, killed = results(nursery.bench.model.requests[-1])
    assert [view["task"] for view in listed["active"]] == ["forever", "steered"]
    assert (listed["total"], listed["callerIsSubagent"]) == (2, False)
    assert (steered["status"], steered["mode"]) == ("accepted", "steered")
    assert waited["status"] == "ok"
    assert [view.get("result") for view in waited["children"]] == ["quickly done"]
    assert (killed["status"], killed["cascadeKilled"], len(killed["runIds"])) == ("ok", 0, 1)
    assert "stillEnding" not in killed
