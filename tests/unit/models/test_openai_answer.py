"""The answer of a chat completion, chunk by chunk."""

import json

import orjson
import pytest

from roost.core.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall, Usage
from roost.core.models import (
    UNREADABLE_ARGUMENTS,
    Finished,
    ModelEvent,
    ModelRef,
    ModelSpec,
    Prices,
    TextDelta,
    ThinkingDelta,
    ToolCallBegun,
)
from roost.models.failures import FILTERED
from roost.models.openai_answer import UNNAMED, Answer, ErrorChunk, MalformedChunk

SPEC = ModelSpec(
    ref=ModelRef("local", "small"), context_window=8_000, max_tokens=500, prices=Prices(input=1.0, output=2.0)
)


def chunk(finish: str | None = None, **delta: object) -> bytes:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode()


def call(index: int | None, **part: object) -> dict[str, object]:
    function = {name: part.pop(name) for name in ("name", "arguments") if name in part}
    placed = {} if index is None else {"index": index}
    return {**placed, **part, "function": function}


def answered(*chunks: bytes) -> tuple[list[ModelEvent], AssistantMessage]:
    answer = Answer(SPEC)
    events = [event for data in chunks for event in answer.take(data)]
    *held, last = answer.finish(at=7)
    assert isinstance(last, Finished)
    return [*events, *held], last.message


def calls_of(*parts: dict[str, object]) -> tuple[list[ModelEvent], list[ToolCall]]:
    events, message = answered(*(chunk(tool_calls=[part]) for part in parts))
    return events, [block for block in message.content if isinstance(block, ToolCall)]


def test_text_and_thinking_are_joined() -> None:
    events, message = answered(
        chunk(role="assistant", content=""),
        chunk(reasoning_content="h"),
        chunk(reasoning="m"),
        chunk(content="a"),
        chunk(content="b", reasoning_content=None),
        chunk(finish="stop"),
    )
    assert events == [ThinkingDelta("h"), ThinkingDelta("m"), TextDelta("a"), TextDelta("b")]
    assert message.content == (Thinking(thinking="hm"), Text("ab"))
    assert (message.at, message.provider, message.model) == (7, "local", "small")


def test_a_refusal_is_what_the_model_said() -> None:
    assert answered(chunk(refusal="I cannot."))[1].content == (Text("I cannot."),)


@pytest.mark.parametrize(
    ("finish", "stop", "error"),
    [
        ("stop", StopReason.STOP, None),
        ("length", StopReason.LENGTH, None),
        ("content_filter", StopReason.ERROR, FILTERED),
        (None, StopReason.STOP, None),
    ],
)
def test_why_an_answer_ends_is_kept(finish: str | None, stop: StopReason, error: str | None) -> None:
    message = answered(chunk(content="a"), chunk(finish=finish))[1]
    assert (message.stop, message.error) == (stop, error)


def test_an_answer_is_whole_after_its_reason_or_the_mark_of_the_end() -> None:
    answer = Answer(SPEC)
    seen: list[tuple[bool, bool]] = []
    for data in (chunk(content="a"), chunk(finish="stop"), b"[DONE]"):
        answer.take(data)
        seen.append((answer.whole, answer.ended))
    assert seen == [(False, False), (True, False), (True, True)]


def test_calls_are_joined_by_their_index() -> None:
    events, calls = calls_of(
        call(0, id="a", name="read", arguments=""),
        call(1, id="b", name="list", arguments='{"x"'),
        call(0, arguments='{"p":'),
        call(1, arguments=":1}"),
        call(0, arguments='"q"}'),
    )
    assert events == [ToolCallBegun(id="a", name="read"), ToolCallBegun(id="b", name="list")]
    assert calls == [
        ToolCall(id="a", name="read", arguments={"p": "q"}),
        ToolCall(id="b", name="list", arguments={"x": 1}),
    ]


def test_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    calls = calls_of(
        call(None, id="a", name="read", arguments='{"p":'),
        call(None, arguments="1}"),
        call(None, id="b", name="list"),
    )[1]
    assert calls == [
        ToolCall(id="a", name="read", arguments={"p": 1}),
        ToolCall(id="b", name="list", arguments={}),
    ]


def test_an_index_used_for_two_calls_makes_two() -> None:
    calls = calls_of(
        call(0, id="a", name="read", arguments="{}"), call(0, id="b", name="list", arguments="{}")
    )[1]
    assert [(one.id, one.name) for one in calls] == [("a", "read"), ("b", "list")]


def test_a_name_and_an_id_sent_again_begin_nothing() -> None:
    events, calls = calls_of(
        call(0, id="a", name="read", arguments="{"), call(0, id="a", name="read", arguments="}")
    )
    assert events == [ToolCallBegun(id="a", name="read")]
    assert calls == [ToolCall(id="a", name="read", arguments={})]


def test_calls_without_an_id_or_with_one_that_is_taken_get_their_own() -> None:
    events, calls = calls_of(
        call(0, id="", name="read", arguments="{}"),
        call(1, name="read", arguments="{}"),
        call(2, id="x", name="read"),
        call(3, id="x", name="read"),
    )
    ids = [one.id for one in calls]
    assert len(set(ids)) == 4
    assert all(ids)
    assert [event.id for event in events if isinstance(event, ToolCallBegun)] == ids


def test_a_call_without_a_name_is_kept_and_begins_before_the_end() -> None:
    events, calls = calls_of(call(0, id="a", arguments="{}"))
    assert events == [ToolCallBegun(id="a", name=UNNAMED)]
    assert calls == [ToolCall(id="a", name=UNNAMED, arguments={})]


def test_arguments_that_are_an_object_already_are_taken() -> None:
    assert calls_of(call(0, id="a", name="read", arguments={"p": 1}))[1][0].arguments == {"p": 1}


def test_arguments_that_are_no_json_are_kept_for_the_model_to_mend() -> None:
    found = calls_of(call(0, id="a", name="read", arguments='{"p": unquoted}'))[1]
    assert found[0].arguments == {UNREADABLE_ARGUMENTS: '{"p": unquoted}'}


def test_an_answer_with_calls_stops_for_them_unless_it_was_cut() -> None:
    part = call(0, id="a", name="read", arguments="{}")
    assert answered(chunk(tool_calls=[part]), chunk(finish="stop"))[1].stop is StopReason.TOOL_USE
    assert answered(chunk(tool_calls=[part]), chunk(finish="length"))[1].stop is StopReason.LENGTH


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            Usage(input=10, output=5, total=15, cost_micros=20),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}},
            Usage(input=2, output=5, cache_read=8, total=15, cost_micros=12),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 0, "prompt_cache_hit_tokens": 99},
            Usage(cache_read=10, total=10),
        ),
        ({"prompt_tokens": "many", "completion_tokens": -1}, Usage()),
        (None, Usage()),
    ],
)
def test_usage_is_read_and_priced(usage: object, counted: Usage) -> None:
    data = json.dumps({"choices": [], "usage": usage}).encode()
    assert answered(chunk(content="a"), data)[1].usage == counted


def test_half_characters_are_mended_and_what_is_said_can_be_kept() -> None:
    events, message = answered(
        b'{"choices":[{"delta":{"content":"a\\ud83d"}}]}',
        b'{"choices":[{"delta":{"content":"\\ude00b"}}]}',
        b'{"choices":[{"delta":{"reasoning":"\\udc00x"}}]}',
        b'{"choices":[{"delta":{"content":"\\ud83d"}}]}',
        b'{"choices":[{"delta":{"content":"c\xff"}}]}',
        b'{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"\\ud800","function":{"name":"r\\ud800"}}]}}]}',
        b'{"choices":[{"delta":{"content":"\\ud83d"}}]}',
    )
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert text == "a😀b\ufffdc\ufffd\ufffd"
    assert message.content[1] == Text(text)
    orjson.dumps([repr(block) for block in message.content])


@pytest.mark.parametrize("data", [b"{", b"[]", b"7", b'"text"', b"<html>", b"[" * 100_000])
def test_what_is_no_object_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedChunk):
        Answer(SPEC).take(data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"error": {"message": "no"}}',
        b'{"choices": [], "error": {"message": "no"}}',
        b'{"choices": [{"finish_reason": "error", "error": {"message": "no"}, "delta": {}}]}',
    ],
)
def test_an_error_in_place_of_a_chunk_is_told(data: bytes) -> None:
    with pytest.raises(ErrorChunk) as told:
        Answer(SPEC).take(data)
    assert told.value.error == {"message": "no"}


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"choices": null}',
        b'{"choices": [null]}',
        b'{"choices": [{"delta": null}]}',
        b'{"choices": [{"delta": {"content": 7, "reasoning": [], "tool_calls": "x"}}]}',
    ],
)
def test_what_says_nothing_is_passed_over(data: bytes) -> None:
    assert list(Answer(SPEC).take(data)) == []


def test_a_whole_message_at_once_is_taken() -> None:
    message = {
        "role": "assistant",
        "content": "a",
        "tool_calls": [call(None, id="x", name="read", arguments="{}")],
    }
    whole = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1}}
    events, answer = answered(json.dumps(whole).encode())
    assert events == [TextDelta("a"), ToolCallBegun(id="x", name="read")]
    assert answer.content == (Text("a"), ToolCall(id="x", name="read", arguments={}))
