"""What every model keeps to, whoever answers behind it."""

from collections.abc import AsyncIterator

import anyio
import pytest

from roost.core.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall, Usage, text_of
from roost.core.models import (
    FailureKind,
    Finished,
    ModelEvent,
    ModelFailed,
    TextDelta,
    ThinkingDelta,
    ToolCallBegun,
)
from roost.testing.clock import NOON
from roost.testing.fake_http import FakeEndpoint, Reply
from roost.testing.scripts import CallTool, Fail, Hang, Say, Script, Spend, Stop, Think, Until, says
from tests.asking import SPEC, request
from tests.contract.model_kits import KITS, Kit

USAGE = Usage(input=90, output=20, cache_read=10, total=120)
READ_A = ToolCall(id="call_a", name="read", arguments={"path": "a.txt", "lines": [1, 2]})
READ_B = ToolCall(id="call_b", name="read", arguments={"path": "b"})
SECONDS = 60


@pytest.fixture(params=KITS)
async def kit(request: pytest.FixtureRequest) -> AsyncIterator[Kit]:
    async with KITS[request.param]() as kit:
        yield kit


async def answer(kit: Kit, script: Script | None, text: str = "hello") -> list[ModelEvent]:
    if script is not None:
        kit.told(script)
    async with kit.model.stream(request(text)) as events:
        return [event async for event in events]


async def failure(kit: Kit, script: Script | None = None) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await answer(kit, script)
    return failed.value


def finished(events: list[ModelEvent]) -> AssistantMessage:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.message


async def test_text_comes_in_pieces_and_the_last_event_holds_all_of_it(kit: Kit) -> None:
    events = await answer(kit, says("one two three", usage=USAGE))
    assert events[:-1] == [TextDelta("one "), TextDelta("two "), TextDelta("three")]
    message = finished(events)
    assert message.content == (Text("one two three"),)
    assert (message.provider, message.model) == (SPEC.ref.provider, SPEC.ref.model)
    assert (message.at, message.usage, message.stop) == (NOON, USAGE, StopReason.STOP)


async def test_thinking_is_told_from_text(kit: Kit) -> None:
    events = await answer(kit, [Think("hm, "), Think("yes"), Say("Yes.")])
    assert events[:-1] == [ThinkingDelta("hm, "), ThinkingDelta("yes"), TextDelta("Yes.")]
    thought, text = finished(events).content
    assert isinstance(thought, Thinking)
    assert (thought.thinking, text) == ("hm, yes", Text("Yes."))


async def test_calls_are_told_when_they_begin_and_whole_at_the_end(kit: Kit) -> None:
    events = await answer(kit, [Say("Let me see."), CallTool(READ_A), CallTool(READ_B)])
    assert events[1:-1] == [
        ToolCallBegun(id="call_a", name="read"),
        ToolCallBegun(id="call_b", name="read"),
    ]
    message = finished(events)
    assert message.content == (Text("Let me see."), READ_A, READ_B)
    assert message.stop is StopReason.TOOL_USE


async def test_nothing_comes_after_the_end_and_there_is_one_end(kit: Kit) -> None:
    kit.told(says("a b"))
    async with kit.model.stream(request()) as events:
        seen = [event async for event in events]
        assert [event async for event in events] == []
    assert [isinstance(event, Finished) for event in seen] == [False, False, True]


async def test_an_empty_answer_is_an_answer(kit: Kit) -> None:
    events = await answer(kit, [])
    assert finished(events).content == ()
    assert len(events) == 1


async def test_an_answer_cut_at_its_length_says_so(kit: Kit) -> None:
    events = await answer(kit, [Say("and then"), Stop(StopReason.LENGTH)])
    assert finished(events).stop is StopReason.LENGTH


async def test_text_in_any_script_comes_through(kit: Kit) -> None:
    text = "Grüße 世界 👩‍👩‍👧 \u2028 'quoted' \\ \n done"
    events = await answer(kit, [Say(text), Spend(USAGE)])
    assert text_of(finished(events)) == text


@pytest.mark.parametrize("kind", FailureKind)
async def test_a_failure_before_the_answer_has_its_kind(kit: Kit, kind: FailureKind) -> None:
    assert (await failure(kit, [Fail(kind)])).kind is kind


@pytest.mark.parametrize("kind", FailureKind)
async def test_a_failure_within_the_answer_has_its_kind_and_keeps_what_was_said(
    kit: Kit, kind: FailureKind
) -> None:
    kit.told([Say("so "), Say("far"), Fail(kind)])
    async with kit.model.stream(request()) as events:
        assert [await anext(events), await anext(events)] == [TextDelta("so "), TextDelta("far")]
        with pytest.raises(ModelFailed) as failed:
            await anext(events)
    assert failed.value.kind is kind


async def test_a_rate_limit_says_how_long_to_wait(kit: Kit) -> None:
    failed = await failure(kit, [Fail(FailureKind.RATE_LIMIT, retry_after_ms=1_500)])
    assert failed.retry_after_ms == 1_500


async def test_a_model_goes_on_after_a_failure(kit: Kit) -> None:
    await failure(kit, [Say("a"), Fail(FailureKind.TRANSIENT)])
    await failure(kit, [Fail(FailureKind.AUTH)])
    assert text_of(finished(await answer(kit, says("fine")))) == "fine"


async def test_leaving_in_the_middle_ends_the_call_at_the_provider(kit: Kit) -> None:
    kit.told([Say("a"), Hang()])
    async with kit.model.stream(request()) as events:
        assert await anext(events) == TextDelta("a")
    with anyio.fail_after(SECONDS):
        await kit.provider.left()


async def test_cancelling_a_wait_for_the_next_piece_ends_the_call_at_the_provider(kit: Kit) -> None:
    kit.told([Say("a"), Hang()])
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(_read_all, kit)
            await kit.provider.asked(1)
            group.cancel_scope.cancel()
        await kit.provider.left()


async def test_cancelling_before_anything_was_said_ends_the_call_at_the_provider(kit: Kit) -> None:
    kit.told([Until(anyio.Event())])
    kit.told(says("next"))
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(_read_all, kit)
            await kit.provider.asked(1)
            group.cancel_scope.cancel()
    assert text_of(finished(await _read_all(kit))) == "next"


async def _read_all(kit: Kit) -> list[ModelEvent]:
    async with kit.model.stream(request()) as events:
        return [event async for event in events]


async def test_an_error_of_the_reader_is_its_own(kit: Kit) -> None:
    kit.told([Say("a"), Hang()])

    async def stumble() -> None:
        async with kit.model.stream(request()) as events:
            await anext(events)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await stumble()
    with anyio.fail_after(SECONDS):
        await kit.provider.left()


async def test_streams_at_the_same_time_do_not_mix(kit: Kit) -> None:
    gate = anyio.Event()
    for number in range(20):
        kit.told([Say(f"{number}:"), Until(gate), *(Say(f" {number}") for _ in range(5))])
    texts: list[str] = []

    async def call() -> None:
        texts.append(text_of(finished(await _read_all(kit))))

    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(call)
            await kit.provider.asked(20)
            gate.set()
    assert sorted(texts) == sorted(f"{n}: {n} {n} {n} {n} {n}" for n in range(20))


async def test_a_hanging_call_delays_no_other(kit: Kit) -> None:
    kit.told([Hang()])
    kit.told(says("quick"))
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(_read_all, kit)
            await kit.provider.asked(1)
            assert text_of(finished(await _read_all(kit))) == "quick"
            group.cancel_scope.cancel()


@pytest.mark.requirement("S14")
@pytest.mark.parametrize("name", [name for name in KITS if name != "scripted"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_no_answer_leads_a_call_and_its_key_to_somewhere_else(name: str, status: int) -> None:
    async with KITS[name]() as kit, FakeEndpoint() as other:
        assert isinstance(kit.provider, FakeEndpoint)
        kit.provider.add(Reply(status=status, headers=(("location", f"{other.url}/v1"),)))
        await failure(kit)
        assert len(kit.provider.requests) == 1
        assert other.requests == []
