"""The laws of the prompt: whatever the transcript holds, every provider accepts what is made of it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from roost.core.entries import Entry
from roost.core.marking import END, defused, mark_of, marked
from roost.core.messages import (
    AssistantMessage,
    Body,
    Message,
    ProvenanceKind,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
    tool_calls,
)
from roost.core.transcript import build_prompt
from roost.testing.providers import violations
from tests.property.histories import histories, placed, said, texts, user_messages
from tests.scale import examples

ENDS_WITH_MODEL = {
    f"{name}: the last message is the model's own" for name in ("openai", "anthropic", "google")
}
NEXT = said("and now?")


def with_next(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    return placed([*(entry.body for entry in entries), NEXT])


@pytest.mark.requirement("P12")
@settings(max_examples=examples(60, 2000), deadline=None)
@given(histories)
def test_every_prefix_of_any_history_builds_a_prompt_that_three_providers_accept(
    entries: tuple[Entry, ...],
) -> None:
    for end in range(len(entries) + 1):
        prefix = entries[:end]
        assert violations(build_prompt(with_next(prefix))) == ()
        prompt = build_prompt(prefix)
        if prompt.messages:
            assert set(violations(prompt)) <= ENDS_WITH_MODEL


@settings(max_examples=examples(60, 1000), deadline=None)
@given(histories)
def test_every_call_has_one_result_right_after_its_message_and_nothing_else_is_a_result(
    entries: tuple[Entry, ...],
) -> None:
    for unit in build_prompt(entries).units:
        assert [call.id for call in tool_calls(unit.message)] == [result.call_id for result in unit.results]


@settings(max_examples=examples(50, 500), deadline=None)
@given(histories)
def test_building_a_prompt_changes_no_entry_and_gives_the_same_prompt_again(
    entries: tuple[Entry, ...],
) -> None:
    before = repr(entries)
    assert build_prompt(entries) == build_prompt(entries)
    assert repr(entries) == before


@settings(max_examples=examples(50, 500), deadline=None)
@given(histories)
def test_details_never_reach_a_model(entries: tuple[Entry, ...]) -> None:
    assert all(
        message.details is None
        for message in build_prompt(entries).messages
        if isinstance(message, ToolResult)
    )


def shown(message: Message) -> str:
    assert isinstance(message, UserMessage)
    return text_of(message)


@pytest.mark.requirement("P16", "D60")
@settings(max_examples=examples(80, 1000), deadline=None)
@given(user_messages.filter(lambda message: bool(message.content)))
def test_only_the_gateway_can_write_a_mark(message: UserMessage) -> None:
    rendered = shown(marked(message))
    mark = mark_of(message.provenance)
    if message.provenance.kind is ProvenanceKind.HUMAN:
        assert mark == ""
        assert message.sender or defused(rendered) == rendered
    else:
        assert rendered.startswith(mark)
        assert rendered.endswith(END)
        inside = rendered.removeprefix(mark).removesuffix(END)
        assert defused(inside) == inside


@settings(max_examples=examples(80, 1000), deadline=None)
@given(user_messages.filter(lambda message: bool(message.content)))
def test_marking_a_marked_message_changes_nothing(message: UserMessage) -> None:
    once = marked(replace(message, sender=None))
    assert marked(once) == once


@settings(max_examples=examples(50, 500), deadline=None)
@given(texts, texts)
def test_breaking_marks_twice_is_breaking_them_once(before: str, after: str) -> None:
    once = defused(f"{before}[Hook event]{after}")
    assert "\\[Hook event]" in once
    assert defused(once) == once


@pytest.mark.requirement("P12")
def test_a_long_run_cut_after_every_event_goes_on_with_every_provider() -> None:
    rounds = examples(25, 125)
    long = placed([body for number in range(rounds) for body in _round(number)])
    assert len(long) >= examples(120, 500)
    for end in range(len(long) + 1):
        assert violations(build_prompt(with_next(long[:end]))) == ()


def _round(number: int) -> list[Body]:
    ids = [f"c{number}_{n}" for n in range(2)]
    calls = tuple(ToolCall(id=call_id, name="read", arguments={"n": number}) for call_id in ids)
    return [
        said(f"question {number}"),
        AssistantMessage(content=(Text("looking"), *calls), at=number),
        *(ToolResult(call_id=call_id, tool="read", content=(Text("data"),), at=number) for call_id in ids),
        AssistantMessage(content=(Text(f"answer {number}"),), at=number),
    ]
