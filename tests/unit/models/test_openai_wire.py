"""A request in the wire shape of chat completions."""

import json
from dataclasses import replace
from types import MappingProxyType

import pytest

from roost.core.jsonvalue import JsonObject
from roost.core.messages import (
    AssistantMessage,
    Image,
    Message,
    Provenance,
    ProvenanceKind,
    Text,
    ToolCall,
    ToolResult,
    UserBlock,
    UserMessage,
)
from roost.core.models import ModelRef, ModelRequest, ModelSpec, ToolSpec
from roost.models.openai_wire import Dialect, LimitField, dialect_of, request_body, wire_messages
from roost.testing.providers import openai_violations

SPEC = ModelSpec(ref=ModelRef("local", "small"), context_window=8_000, max_tokens=500)
PICTURE = Image(mime="image/png", data="aGk=")


def heard(*content: UserBlock) -> UserMessage:
    return UserMessage(content=content, at=1, provenance=Provenance(kind=ProvenanceKind.HUMAN))


def body(
    *messages: Message,
    spec: ModelSpec = SPEC,
    dialect: Dialect | None = None,
    extra: JsonObject | None = None,
    request: ModelRequest | None = None,
) -> dict[str, object]:
    asked = request or ModelRequest(spec=spec, system="", messages=messages or (heard(Text("hi")),))
    written = json.loads(request_body(asked, dialect or Dialect(), extra or {}))
    assert isinstance(written, dict)
    return written


def test_a_plain_request_streams_with_usage_and_a_limit() -> None:
    assert body() == {
        "model": "small",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 500,
    }


def test_system_text_and_tools_are_told() -> None:
    tool = ToolSpec(name="read", description="Reads.", parameters=MappingProxyType({"type": "object"}))
    asked = ModelRequest(
        spec=SPEC, system="Be kind.", messages=(heard(Text("a")),), tools=(tool,), max_tokens=7
    )
    written = body(request=asked)
    assert written["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "a"},
    ]
    assert written["tools"] == [
        {
            "type": "function",
            "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object"}},
        }
    ]
    assert written["max_tokens"] == 7


def test_a_dialect_names_the_limit_and_leaves_out_what_an_endpoint_refuses() -> None:
    written = body(dialect=Dialect(limit_field=LimitField.MAX_COMPLETION_TOKENS, stream_usage=False))
    assert written["max_completion_tokens"] == 500
    assert not {"max_tokens", "stream_options"} & set(written)


def test_openai_itself_is_known_by_its_address() -> None:
    assert dialect_of("https://api.openai.com/v1").limit_field is LimitField.MAX_COMPLETION_TOKENS
    assert dialect_of("http://localhost:8000/v1") == Dialect()


@pytest.mark.parametrize(
    ("thinking", "effort"),
    [(None, None), ("off", None), ("adaptive", None), ("low", "low"), ("xhigh", "high"), ("max", "high")],
)
def test_thinking_is_asked_for_in_the_words_of_the_endpoint(thinking: str | None, effort: str | None) -> None:
    spec = replace(SPEC, reasoning=True)
    asked = ModelRequest(spec=spec, system="", messages=(heard(Text("a")),), thinking=thinking)
    assert body(request=asked).get("reasoning_effort") == effort
    assert "reasoning_effort" not in body(request=replace(asked, spec=SPEC))
    assert "reasoning_effort" not in body(request=asked, dialect=Dialect(reasoning_effort=False))


def test_further_parameters_are_sent_and_replace_nothing() -> None:
    written = body(extra={"temperature": 0.5, "stream": False, "model": "other"})
    assert (written["temperature"], written["stream"], written["model"]) == (0.5, True, "small")


def test_images_are_sent_where_the_model_takes_them_and_named_where_not() -> None:
    seeing = body(heard(Text("look"), PICTURE), spec=replace(SPEC, images=True))["messages"]
    url = {"url": "data:image/png;base64,aGk="}
    assert seeing == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": url}],
        }
    ]
    assert body(heard(Text("look"), PICTURE))["messages"] == [
        {"role": "user", "content": "look\n\n[an image: this model takes none]"}
    ]


@pytest.mark.requirement("P12")
def test_a_conversation_with_calls_breaks_no_rule_of_the_endpoint() -> None:
    call = ToolCall(id="c1", name="read", arguments={"n": 2**70, "t": "é"})
    messages: tuple[Message, ...] = (
        heard(Text("a")),
        heard(Text("b")),
        AssistantMessage(content=(Text("see"), call), at=2),
        ToolResult(call_id="c1", tool="read", content=(Text("x"), PICTURE), at=3),
        heard(Text("c")),
    )
    assert openai_violations({"messages": wire_messages(messages, images=True)}) == ()
    assert body(*messages)["messages"] == [
        {"role": "user", "content": "a\n\nb"},
        {
            "role": "assistant",
            "content": "see",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read", "arguments": f'{{"n":{2**70},"t":"é"}}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
        {"role": "user", "content": "[an image: this model takes none]\n\nc"},
    ]


def test_what_the_fast_writer_refuses_is_written_all_the_same() -> None:
    assert body(heard(Text("half \ud800")))["messages"] == [{"role": "user", "content": "half ?"}]
    assert body(extra={"seed": 2**70})["seed"] == 2**70
