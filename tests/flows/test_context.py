"""What a model is shown as a conversation grows: pruned, condensed, never larger than its window, nothing lost."""

from itertools import pairwise

import anyio
import pytest

from roost.core.compaction import CompactionSettings
from roost.core.effects import Effects, OpenGeneration, QueueRun
from roost.core.messages import (
    AssistantMessage,
    Compaction,
    ProvenanceKind,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
)
from roost.core.models import FailureKind, ModelRequest
from roost.core.principals import OWNER
from roost.core.queries import LedgerQuery
from roost.core.runs import Cause, Run, RunState
from roost.core.snapshots import Snapshot
from roost.core.transcript import Prompt, TranscriptUnit
from roost.core.upkeep import ContextSettings, compaction_request
from roost.testing import builders
from roost.testing.providers import violations
from roost.testing.scripts import CallTool, Fail, Hang, Say, Script, Until
from tests.flows.contexts import (
    LONG,
    MAIN,
    SPEC,
    SUMMARY,
    House,
    answer,
    is_summary,
    last_line,
    numbered,
)
from tests.flows.gateways import ADA, place
from tests.unit.engine.scenes import Doing


@pytest.mark.requirement("P11")
async def test_a_context_that_grew_too_large_is_condensed_and_the_conversation_goes_on(house: House) -> None:
    texts = numbered(14)
    await house.talk(*texts)

    assert await house.compactions()
    spoken = [text_of(body) for body in await house.bodies() if isinstance(body, UserMessage)]
    assert [text.split()[-1] for text in spoken] == [text.split()[-1] for text in texts]
    replies = house.bench.channel.replies(place(ADA))
    assert [reply.removeprefix("re ") for reply in replies] == [text[-8:] for text in texts]
    session = await house.bench.store.session(MAIN)
    assert session is not None
    assert session.counters.compactions == len(await house.compactions())
    assert 0 < session.counters.total < session.counters.context_window == SPEC.context_window


@pytest.mark.requirement("P11")
async def test_the_last_turns_stay_word_for_word_and_every_prompt_is_one_that_providers_accept(
    house: House,
) -> None:
    texts = numbered(14)
    await house.talk(*texts)
    for number, request in enumerate(house.asked()):
        said = [text_of(one) for one in request.messages if isinstance(one, UserMessage)]
        newest = [f"[Sender: Ada]\n{text}" for text in texts[max(0, number - 2) : number + 1]]
        assert said[-len(newest) :] == newest
        assert violations(prompt_of(request)) == ()


def prompt_of(request: ModelRequest) -> Prompt:
    spoken = [message for message in request.messages if not isinstance(message, ToolResult)]
    return Prompt(units=tuple(TranscriptUnit(message=message, first=0, last=0) for message in spoken))


@pytest.mark.requirement("P11")
async def test_prompts_begin_with_the_same_words_until_the_context_is_condensed(house: House) -> None:
    await house.talk(*numbered(14))
    requests = house.bench.model.requests
    for before, after in pairwise(requests):
        if is_summary(before) or is_summary(after):
            continue
        assert after.messages[: len(before.messages)] == before.messages


@pytest.mark.requirement("P11")
@pytest.mark.parametrize(
    "summary",
    [(Fail(FailureKind.TRANSIENT),), (Say("## Decisions\nnone of the others"),), (Say(SUMMARY + LONG * 40),)],
)
async def test_a_summariser_that_is_of_no_use_is_asked_twice_at_most_and_excerpts_take_its_place(
    house: House, summary: Script
) -> None:
    house.bench.model.otherwise = lambda request: summary if is_summary(request) else answer(request)
    await house.talk(*numbered(14))
    compactions = await house.compactions()
    calls = [request for request in house.bench.model.requests if is_summary(request)]
    assert compactions
    assert len(calls) <= 2 * len(compactions)
    assert len(house.bench.channel.replies(place(ADA))) == 14
    usage = await house.bench.store.usage(LedgerQuery(key=MAIN))
    assert usage.calls == 14 + len(calls)


@pytest.mark.requirement("P11")
async def test_what_is_said_while_a_context_is_condensed_is_answered_after_it(house: House) -> None:
    release = anyio.Event()
    house.settings = ContextSettings(compaction=CompactionSettings(keep_recent=100, keep_turns=1))
    house.bench.model.otherwise = lambda request: (
        (Until(release), Say(SUMMARY)) if is_summary(request) else answer(request)
    )
    async with house.bench.serving() as (engine, _):
        for text in numbered(4):
            await house.bench.say(text)
            await house.bench.channel.wait_acknowledged()
            await engine.settled()
        await condense(house, None)
        await house.bench.model.asked(5)
        await house.bench.say("and this?")
        await house.bench.channel.wait_acknowledged()
        assert len(house.bench.channel.replies(place(ADA))) == 4
        release.set()
        await engine.settled()
    assert house.bench.channel.replies(place(ADA))[-1] == "re nd this?"
    tail = (await house.bodies())[-3:]
    assert [type(body) for body in tail] == [Compaction, UserMessage, AssistantMessage]


@pytest.mark.requirement("P11")
async def test_what_is_said_while_a_tool_runs_is_read_before_it_is_condensed(house: House) -> None:
    digs, began, found = list[str](), anyio.Event(), anyio.Event()

    async def dig() -> str:
        digs.append("dig")
        if len(digs) == 3:
            began.set()
            await found.wait()
        return "word " * 900

    def digging(request: ModelRequest) -> Script:
        if is_summary(request):
            return (Say(SUMMARY),)
        if len(digs) < 3:
            return (CallTool(ToolCall(id=f"c{len(digs)}", name="dig", arguments={})),)
        return (Say("done"),)

    house.settings = ContextSettings(flushes=False)
    house.bench.tools = (Doing("dig", dig),)
    house.bench.model.otherwise = digging
    async with house.bench.serving() as (engine, _):
        await house.bench.say("dig for gold")
        await began.wait()
        await house.bench.say(f"LEAVE-THE-ROSES {'word ' * 1_000}")
        await house.bench.say(f"{'word ' * 700} and hurry")
        await house.bench.channel.wait_acknowledged()
        found.set()
        await engine.settled()
    assert await house.compactions()
    last = " ".join(text_of(message) for message in house.asked()[-1].messages)
    assert "LEAVE-THE-ROSES" in last
    assert "and hurry" in last


@pytest.mark.requirement("P11")
async def test_a_context_that_its_provider_refuses_is_condensed_and_the_question_answered(
    house: House,
) -> None:
    refused: list[int] = []

    def strict(request: ModelRequest) -> Script:
        size = sum(len(text_of(message)) for message in request.messages)
        if not is_summary(request) and size > 6_000:
            refused.append(size)
            return (Fail(FailureKind.OVERFLOW, "too long"),)
        return answer(request)

    house.settings = ContextSettings(ahead=False)
    house.bench.model.otherwise = strict
    await house.talk(*numbered(8))
    assert refused
    assert await house.compactions()
    assert len(house.bench.channel.replies(place(ADA))) == 8
    assert all(reply.startswith("re ") for reply in house.bench.channel.replies(place(ADA)))


async def test_one_message_larger_than_the_window_is_shortened_and_answered(house: House) -> None:
    await house.talk("huge " * 20_000 + "\nthe end")
    assert house.bench.channel.replies(place(ADA)) == ("re the end",)
    (request,) = house.asked()
    assert sum(len(text_of(message)) for message in request.messages) < 4 * SPEC.context_window


async def test_a_provider_that_refuses_even_the_smaller_context_is_told_with_what_to_do(house: House) -> None:
    house.bench.model.otherwise = (Fail(FailureKind.OVERFLOW, "too long"),)
    await house.talk("hello")
    (told,) = house.bench.channel.replies(place(ADA))
    assert "/compact" in told
    assert "/new" in told
    assert len(house.bench.model.requests) == 2


async def condense(house: House, focus: str | None) -> None:
    def queue(snapshot: Snapshot) -> Effects:
        cause = Cause(principal=OWNER, kind=ProvenanceKind.HUMAN, trace="t")
        now = house.bench.clock.now()
        request = compaction_request(focus, place(ADA))
        run = Run(
            id=f"compact-{now}",
            key=MAIN,
            state=RunState.QUEUED,
            cause=cause,
            request=request,
            queued_at=now,
            ready_at=now,
        )
        return (QueueRun(run=run),)

    await house.bench.store.change_session(MAIN, queue)


async def test_a_person_can_have_it_condensed_now_with_a_wish_and_is_told_what_came_of_it(
    house: House,
) -> None:
    house.settings = ContextSettings(compaction=CompactionSettings(keep_recent=100, keep_turns=1))
    async with house.bench.serving() as (engine, _):
        for text in numbered(4):
            await house.bench.say(text)
            await house.bench.channel.wait_acknowledged()
            await engine.settled()
        await condense(house, "the names")
        await engine.settled()
    assert len(await house.compactions()) == 1
    (summary,) = [request for request in house.bench.model.requests if is_summary(request)]
    assert "<focus>\nthe names\n</focus>" in summary.system
    assert house.bench.channel.replies(place(ADA))[-1].startswith("Condensed: ")


async def test_a_conversation_that_began_anew_meanwhile_is_not_said_to_be_condensed(house: House) -> None:
    release = anyio.Event()
    house.settings = ContextSettings(compaction=CompactionSettings(keep_recent=100, keep_turns=1))
    house.bench.model.otherwise = lambda request: (
        (Until(release), Say(SUMMARY)) if is_summary(request) else answer(request)
    )
    async with house.bench.serving() as (engine, _):
        for text in numbered(4):
            await house.bench.say(text)
            await house.bench.channel.wait_acknowledged()
            await engine.settled()
        await condense(house, None)
        await house.bench.model.asked(5)
        anew = builders.generation(MAIN, "anew", 2)
        await house.bench.store.change_session(MAIN, lambda snapshot: (OpenGeneration(generation=anew),))
        release.set()
        await engine.settled()
    assert not await house.compactions()
    assert len(house.bench.channel.replies(place(ADA))) == 4


async def test_a_short_conversation_is_not_condensed_and_the_person_is_told_why(house: House) -> None:
    async with house.bench.serving() as (engine, _):
        await house.bench.say("hi")
        await house.bench.channel.wait_acknowledged()
        await engine.settled()
        await condense(house, None)
        await engine.settled()
    assert await house.compactions() == []
    assert house.bench.channel.replies(place(ADA))[-1].startswith("Not condensed")


async def test_the_chat_is_told_of_a_compaction_only_where_that_is_asked_for(house: House) -> None:
    house.settings = ContextSettings(notifies=True)
    await house.talk(*numbered(14))
    told = [one for one in house.bench.channel.replies(place(ADA)) if one.startswith("Condensed")]
    assert len(told) == len([body for body in await house.bodies() if isinstance(body, Compaction)])


@pytest.mark.requirement("D52", "P3")
async def test_compact_ends_the_answer_under_way_and_what_waits_is_answered_after_it(house: House) -> None:
    house.settings = ContextSettings(compaction=CompactionSettings(keep_recent=100, keep_turns=1))
    house.bench.model.otherwise = lambda request: (
        (Say("a long"), Hang()) if last_line(request).endswith("for ever") else answer(request)
    )
    bench = house.bench
    async with bench.serving() as (engine, _):
        for text in numbered(4):
            await bench.say(text)
            await bench.channel.wait_acknowledged()
            await engine.settled()
        await bench.say("talk for ever")
        await bench.model.asked(5)
        await bench.say("and this?")
        await bench.say("/compact")
        await bench.channel.wait_acknowledged()
        with anyio.fail_after(60):
            await engine.settled()
    told = bench.channel.replies(place(ADA))[4:]
    assert told[0] == "Stopped the run under way. Condensing this conversation now."
    assert told[-1] == "re nd this?"
    kinds = [type(body) for body in (await house.bodies())[-4:]]
    assert kinds == [AssistantMessage, Compaction, UserMessage, AssistantMessage]
