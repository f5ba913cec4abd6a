"""The built-in model."""

import anyio
import pytest

from roost.core.announce import subagent_task_message
from roost.core.marking import marked
from roost.core.messages import (
    AssistantMessage,
    Message,
    Provenance,
    ProvenanceKind,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
    tool_calls,
)
from roost.core.models import Finished, ModelRequest, TextDelta, ToolCallBegun, ToolSpec
from roost.core.terms import SpawnMode
from roost.core.transcript import gateway_message
from roost.models.demo import SPEC, DemoModel, reply_to
from roost.models.demo_answers import NOT_A_MODEL
from roost.testing.clock import NOON, FakeClock

TOOLS = tuple(
    ToolSpec(name=name, description="A tool.", parameters={"type": "object"})
    for name in ("sessions_list", "sessions_spawn", "sessions_send", "sessions_search", "sessions_history")
)


def heard(text: str, kind: ProvenanceKind = ProvenanceKind.HUMAN, sender: str | None = None) -> UserMessage:
    said = UserMessage(content=(Text(text),), at=NOON, provenance=Provenance(kind=kind), sender=sender)
    return marked(said)


def asked(*messages: Message, tools: tuple[ToolSpec, ...] = TOOLS, system: str = "Be kind.") -> ModelRequest:
    return ModelRequest(spec=SPEC, system=system, messages=messages, tools=tools)


def said(*messages: Message, system: str = "") -> str:
    return text_of(reply_to(asked(*messages, system=system), NOON))


async def test_an_answer_streams_word_by_word_and_ends_whole() -> None:
    async with DemoModel(FakeClock()).stream(asked(heard("What is Roost?"))) as stream:
        *words, last = [event async for event in stream]
    assert len(words) > 10
    assert isinstance(last, Finished)
    assert "".join(word.text for word in words if isinstance(word, TextDelta)) == text_of(last.message)
    assert (last.message.at, last.message.provider, last.message.model) == (NOON, "demo", "demo")
    assert NOT_A_MODEL in text_of(last.message)


async def test_a_call_is_told_when_it_begins() -> None:
    async with DemoModel(FakeClock()).stream(asked(heard("list my sessions"))) as stream:
        events = [event async for event in stream]
    last = events[-1]
    assert isinstance(last, Finished)
    (call,) = tool_calls(last.message)
    assert events[-2] == ToolCallBegun(id=call.id, name="sessions_list")
    assert last.message.stop is StopReason.TOOL_USE


async def test_a_stream_can_be_cancelled_between_words() -> None:
    seen: list[object] = []
    with anyio.CancelScope() as scope:
        async with DemoModel(FakeClock()).stream(asked(heard("hello"))) as stream:
            async for event in stream:
                seen.append(event)
                scope.cancel()
    assert len(seen) == 1


def test_the_same_request_gets_the_same_answer() -> None:
    request = asked(heard("spawn a helper to count to 5"))
    assert reply_to(request, NOON) == reply_to(request, NOON)


def test_every_call_of_a_conversation_has_its_own_id() -> None:
    first = reply_to(asked(heard("list my sessions")), NOON)
    result = ToolResult(call_id="x", tool="sessions_list", content=(Text("{}"),), at=NOON)
    later = reply_to(asked(heard("list my sessions"), first, result, heard("list my sessions")), NOON)
    assert tool_calls(first)[0].id != tool_calls(later)[0].id


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    reply = reply_to(asked(heard("list my sessions"), tools=()), NOON)
    assert tool_calls(reply) == ()
    assert "sessions_list" in text_of(reply)


def test_after_results_each_is_told_in_order() -> None:
    call = ToolCall(id="1", name="read", arguments={})
    results = [
        ToolResult(call_id="1", tool="read", content=(Text(text),), at=NOON) for text in ("one", "two")
    ]
    assert said(heard("x"), AssistantMessage(content=(call,), at=NOON), *results) == (
        "read says: one\n\nread says: two"
    )


def test_a_helper_does_its_task() -> None:
    task = subagent_task_message("count to 5", depth=1, max_depth=2, mode=SpawnMode.RUN)
    assert said(heard(task, ProvenanceKind.SUBAGENT)) == "1, 2, 3, 4, 5"
    assert said(heard(task, ProvenanceKind.INTER_SESSION)) == "1, 2, 3, 4, 5"


def test_what_a_helper_reports_is_passed_on() -> None:
    report = heard("Status: success\nResult: 1, 2, 3", ProvenanceKind.SUBAGENT)
    assert said(report) == "A helper reports:\nStatus: success\nResult: 1, 2, 3"


def test_marks_and_names_around_a_message_do_not_hide_it() -> None:
    assert said(heard("count to 3", sender="Ann")) == "1, 2, 3"
    assert said(heard("count to 3", ProvenanceKind.INTER_SESSION)) == "1, 2, 3"


@pytest.mark.parametrize(
    ("step", "word"),
    [
        ("Agent-to-agent reply step.\nYou are agent 2.", "REPLY_SKIP"),
        ("Agent-to-agent announce step.\n…", "ANNOUNCE_SKIP"),
        ("Agent-to-agent late reply.\n… Reply NO_REPLY if …", "NO_REPLY"),
    ],
)
def test_a_conversation_between_agents_is_not_kept_up(step: str, word: str) -> None:
    last = gateway_message(step, NOON)
    assert said(heard("and then?", ProvenanceKind.INTER_SESSION), last) == word


def test_the_first_message_of_another_agent_is_answered() -> None:
    block = gateway_message("Agent-to-agent message.\nYou are agent 2.", NOON)
    assert said(heard("count to 3", ProvenanceKind.INTER_SESSION), block) == "1, 2, 3"
    assert "demo model" in said(block)


def test_the_gateway_gets_the_word_it_asks_for_and_a_person_does_not() -> None:
    text = "If nothing needs attention, reply HEARTBEAT_OK."
    assert said(heard(text, ProvenanceKind.SCHEDULE)) == "HEARTBEAT_OK"
    assert said(heard("Save notes, then reply NO_REPLY.", ProvenanceKind.SYSTEM)) == "NO_REPLY"
    assert NOT_A_MODEL in said(heard(text))


def test_a_conversation_that_ends_with_its_own_words_is_answered() -> None:
    assert said(heard("x"), AssistantMessage(content=(Text("y"),), at=NOON)) == NOT_A_MODEL


def test_usage_is_estimated() -> None:
    few = reply_to(asked(heard("hello"), tools=(), system=""), NOON).usage
    many = reply_to(asked(heard("hello " * 3), heard("hello"), system="long " * 50), NOON).usage
    assert 0 < few.input < many.input
    assert few.total == few.input + few.output
    assert few.output > 0
