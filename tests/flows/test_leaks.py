"""What leaks from a model's machinery into what it writes goes to no other session and into no chat."""

import pytest

from roost.core.commands import Aspect
from roost.core.leases import Gateway
from roost.core.messages import AssistantMessage, ToolResult, text_of
from roost.core.models import ModelRequest
from roost.core.queries import HistoryQuery
from roost.core.reach import SessionReach
from roost.core.visibility import Level
from roost.scanners.stdlib import StdlibScanner
from roost.testing.scripts import Say, Script, Think, Until
from roost.tools.access import Access
from roost.tools.sessions_history import SessionsHistory
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
from tests.flows.stages import ANNOUNCE_STEP, OPS, REPLY_STEP, Stage, result, send, step

GATEWAY = Gateway(name="flow", holder="flow")
THOUGHT = "<think>the boss is a fool</think>"
CALLED = '<tool_call>{"name": "exec", "arguments": {"command": "ls"}}</tool_call>'
CODE = "```xml\n<think>as in a template</think>\n```"
LEAKY, CLEAN = f"{THOUGHT}Three.\n\n{CODE}\n\n{CALLED}", f"Three.\n\n{CODE}"

pytestmark = [pytest.mark.timeout(30), pytest.mark.requirement("D56")]


def leaks(text: str) -> bool:
    return "boss" in text or "tool_call" in text


@pytest.mark.requirement("P16")
async def test_a_reply_and_the_turns_after_it_are_without_what_leaked(stage: Stage) -> None:
    def answers(request: ModelRequest) -> Script:
        return (Say(f"{THOUGHT}ANNOUNCE_SKIP" if step(request) == ANNOUNCE_STEP else LEAKY),)

    asking = stage.play(
        MAIN, send(agentId="ops", message="how many?"), (Say("I see."),), otherwise=(Say("REPLY_SKIP"),)
    )
    stage.play(OPS, otherwise=answers)
    async with stage.bench.serving():
        await stage.bench.say("ask ops")
        assert await stage.bench.replies() == ("I see.",)
        exchange = await stage.over()
    assert (result(asking, 1)["reply"], exchange.first_reply) == (CLEAN, CLEAN)
    (turn,) = [one for one in asking.requests if step(one) == REPLY_STEP]
    (heard,) = [text for text in map(text_of, turn.messages) if "Three." in text and "[Inter-session" in text]
    assert CLEAN in heard
    assert not leaks(heard)


async def test_a_reply_of_nothing_but_reasoning_is_none(stage: Stage) -> None:
    asking = stage.play(MAIN, send(agentId="ops", message="how many?"), (Say("I see."),))
    stage.play(OPS, otherwise=(Say(THOUGHT),))
    async with stage.bench.serving():
        await stage.bench.say("ask ops")
        assert await stage.bench.replies() == ("I see.",)
    assert result(asking)["status"] == "no_reply"


async def test_an_answer_in_a_chat_is_without_what_leaked_and_one_of_nothing_else_is_explained(
    stage: Stage,
) -> None:
    answering = stage.play(MAIN, (Say(LEAKY),), (Say(THOUGHT),))
    async with stage.bench.serving():
        for number, text in enumerate(("how many?", "and now?"), 1):
            await stage.bench.say(text)
            await answering.asked(number)
            await until_at_rest(stage.bench.store)
        await stage.bench.say(f"/explain {Aspect.SILENCE}")
        answer, explained = await stage.bench.replies(at_least=2)
    assert answer == CLEAN
    assert "was only reasoning or tool calls" in explained
    page = await stage.bench.store.history(HistoryQuery(key=MAIN))
    kept = [text_of(one.body) for one in page.entries if isinstance(one.body, AssistantMessage)]
    assert LEAKY in kept


@pytest.mark.requirement("D27", "D64")
async def test_what_a_child_found_is_told_without_what_leaked(nursery: Nursery) -> None:
    """To its requester's chat, to the tool that waits for it, and to the turn that reads of it."""

    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say(f"Result: {LEAKY}")]
        if task_of(request):
            return [Until(nursery.answered), Say(LEAKY)]
        if not isinstance(newest(request), ToolResult):
            return [Say("I see.")] if "and now?" in said_to(request) else spawns("count")
        if len(results(request)) == 1:
            nursery.answered.set()
            return [call("subagents", action="wait", target="last")]
        return [Say("Waited.")]

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        replies = await nursery.bench.replies(at_least=2)
        (waited,) = results(nursery.newest_of_main())[-1]["children"]
        await nursery.bench.say("and now?")
        await nursery.bench.replies(at_least=3)
    (announced,) = [one for one in replies if one.startswith("Status: success")]
    assert announced.startswith(f"Status: success\nResult: {CLEAN}\nStats: ")
    assert waited["result"] == CLEAN
    (spawned,) = await nursery.bench.store.spawned(MAIN)
    completion = await nursery.bench.store.completion(spawned.child_run)
    assert completion is not None
    assert completion.result == CLEAN
    shown = [text_of(one) for one in nursery.newest_of_main().messages]
    assert any(CLEAN in text for text in shown)
    assert not any(map(leaks, shown))


@pytest.mark.requirement("D63")
async def test_a_turn_that_waited_reads_a_report_without_what_leaked(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return [Until(nursery.answered), Say(LEAKY)]
        if hears_of_ends(request):
            return [Say("I see.")]
        return [*spawns("count"), call("sessions_yield")]

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.bench.model.asked(2)
        await until_at_rest(nursery.bench.store)
        nursery.answered.set()
        assert await nursery.bench.replies() == ("I see.",)
    report = said_to(nursery.newest_of_main())
    assert CLEAN in report
    assert not leaks(report)


@pytest.mark.requirement("D27")
async def test_a_child_that_thinks_aloud_before_it_asks_for_silence_has_it(nursery: Nursery) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say(f"{THOUGHT}ANNOUNCE_SKIP")]
        if task_of(request):
            return [Until(nursery.answered), Say("five")]
        return [Say("Begun.")] if isinstance(newest(request), ToolResult) else spawns("count")

    nursery.act = act
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.until_answered()
        await engine.settled()
        assert await nursery.bench.replies() == ("Begun.",)
    assert await nursery.bench.store.completions(MAIN) == ()


async def test_what_a_model_thought_is_read_back_by_no_session(stage: Stage) -> None:
    access = Access(stage.bench.store, stage.bench.clock, SessionReach(agent="main", level=Level.TREE))
    stage.more = (SessionsHistory(access, StdlibScanner()),)
    asking = stage.play(
        MAIN,
        (Think("the boss is a fool"), Say("Hello.")),
        (call("sessions_history", sessionKey="main"),),
        (Say("I see."),),
    )
    async with stage.bench.serving():
        for number, text in enumerate(("hi", "what did you say?"), 1):
            await stage.bench.say(text)
            await stage.bench.replies(at_least=number)
    told = result(asking)
    answer = next(one for one in told["messages"] if one["role"] == "assistant")
    assert answer["content"] == [{"type": "text", "text": "Hello."}]
    assert not leaks(str(told))
    assert told["metadataOmitted"]
