"""How children end, and who is told."""

import anyio
import pytest

from roost.core.leases import Gateway
from roost.core.messages import ToolResult, UserMessage
from roost.core.models import FailureKind, ModelRequest
from roost.core.redaction import mask
from roost.engine.rules import CommandRules, Housekeeping
from roost.scanners.stdlib import StdlibScanner
from roost.testing.scripts import Fail, Hang, Say, Script, Until
from tests.credentials import mixed
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
)

GATEWAY = Gateway(name="flow", holder="flow")


@pytest.mark.requirement("D21")
async def test_a_child_that_is_to_be_deleted_is_gone_once_its_end_is_told(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("Result: done")]
        if task_of(request):
            return [Until(nursery.answered), Say("done")]
        done = isinstance(newest(request), ToolResult)
        return [Say("Begun.")] if done else spawns("once", cleanup="delete")

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.until_answered()
        replies = await nursery.bench.replies(at_least=2)
    assert "Result: done" in replies[1]
    assert await nursery.descendants() == []


@pytest.mark.requirement("P24")
async def test_what_a_chat_is_told_of_a_failure_has_no_secrets_in_it(nursery: Nursery) -> None:
    key = "sk-" + mixed(30)

    def act(request: ModelRequest) -> Script:
        if task_of(request) or said_to(request).endswith("fail yourself"):
            fails = Fail(FailureKind.PERMANENT, f"Incorrect API key provided: {key}")
            return [Until(nursery.answered), fails]
        done = isinstance(newest(request), ToolResult)
        return [Say("Begun.")] if done else spawns("fail")

    nursery.act = act
    nursery.bench.change(commands=CommandRules(scanner=StdlibScanner()))
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.until_answered()
        await nursery.bench.replies(at_least=2)
        await nursery.bench.say("fail yourself")
        _, announced, unanswered = await nursery.bench.replies(at_least=3)
    for told in (announced, unanswered):
        assert f"Incorrect API key provided: {mask(key)}" in told


@pytest.mark.requirement("D21")
async def test_a_child_that_takes_too_long_is_announced_as_timed_out(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return [Say("Status: success"), Hang()]
        done = isinstance(newest(request), ToolResult)
        return [Say("Begun.")] if done else spawns("forever", runTimeoutSeconds=3)

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        replies = await nursery.bench.replies(at_least=2)
    assert replies[1].splitlines()[0] == "Status: timeout"


@pytest.mark.requirement("P1", "D27")
async def test_an_announce_that_takes_too_long_is_told_without_the_child(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Hang()]
        if task_of(request):
            return [Until(nursery.answered), Say("the result is five")]
        done = isinstance(newest(request), ToolResult)
        return [Say("Begun.")] if done else spawns("count")

    nursery.act = act
    nursery.bench.change(house=Housekeeping(announce_ms=50))
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.until_answered()
        replies = await nursery.bench.replies(at_least=2)
    assert replies[1].splitlines()[:2] == ["Status: success", "Result: the result is five"]
    assert await nursery.bench.store.completions(MAIN) == ()


@pytest.mark.requirement("P1", "D63")
@pytest.mark.parametrize("told_first", [True, False])
async def test_a_child_that_ends_before_its_requester_yields_is_told_once_and_the_turn_goes_on(
    nursery: Nursery, *, told_first: bool
) -> None:
    """The chat is told while the requester is busy, or not at all; the turn that yields ends with an answer."""
    ended, yields = anyio.Event(), anyio.Event()

    def act(request: ModelRequest) -> Script:
        if announcing(request):
            ended.set()
            return [Say("Result: five")] if told_first else [Until(yields), Say("Result: five")]
        if task_of(request):
            return [Say("five")]
        if hears_of_ends(request):
            yields.set()
            return [Say("All done.")]
        if not isinstance(newest(request), ToolResult):
            return spawns("count")
        return (
            [Until(ended), call("sessions_yield")]
            if not told_first
            else [Until(yields), call("sessions_yield")]
        )

    nursery.act = act
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        await nursery.bench.say("go")
        if told_first:
            await nursery.bench.replies()
            yields.set()
        await nursery.bench.replies(at_least=2 if told_first else 1)
        await engine.settled()
        replies = await nursery.bench.replies()
    told = [one for one in replies if "five" in one]
    assert (len(told), replies[-1]) == (1 if told_first else 0, "All done.")
    entries = await nursery.bench.store.entries((await nursery.session(MAIN)).session_id)
    heard = [one.body for one in entries if isinstance(one.body, UserMessage) and not one.body.sender]
    assert len(heard) == (2 if told_first else 1)
    assert await nursery.bench.store.completions(MAIN) == ()


@pytest.mark.requirement("D64")
async def test_a_child_that_went_on_after_its_own_children_is_listed_as_it_is_now(nursery: Nursery) -> None:
    goes_on, fails = anyio.Event(), anyio.Event()

    def act(request: ModelRequest) -> Script:
        done = isinstance(newest(request), ToolResult)
        match task_of(request):
            case "part":
                return [Say("a part")]
            case "whole" if "a part" in said_to(request):
                goes_on.set()
                return [Until(fails), Fail(FailureKind.PERMANENT, "it broke")]
            case "whole":
                return [call("sessions_yield")] if done else spawns("part")
            case _ if not results(request):
                return spawns("whole")
            case _:
                looks = call("subagents", f"look-{len(results(request))}", action="list")
                return [Say("Done.")] if done else [looks]

    nursery.act = act
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        await nursery.bench.say("first")
        await goes_on.wait()
        await nursery.bench.replies()
        await nursery.bench.say("look")
        await nursery.bench.replies(at_least=2)
        (under_way,) = results(nursery.newest_of_main())[-1]["active"]
        fails.set()
        await engine.settled()
        await nursery.bench.say("look")
        await nursery.bench.replies(at_least=4)
        (over,) = results(nursery.newest_of_main())[-1]["recent"]
    assert under_way["status"] == "running"
    assert under_way["currentRunId"] != under_way["runId"] == over["runId"]
    assert (over["status"], "currentRunId" in over) == ("failed", False)
    last = await nursery.bench.store.run(under_way["currentRunId"])
    assert last is not None
    assert last.outcome is not None
    assert over["endedAt"] == last.outcome.at
