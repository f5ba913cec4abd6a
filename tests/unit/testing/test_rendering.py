import pytest

from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Image,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserBlock,
    UserMessage,
)
from roost.core.transcript import Prompt, TranscriptUnit
from roost.testing.rendering import to_anthropic, to_google, to_openai

PICTURE = Image(mime="image/png", data="aGk=")
CALL = ToolCall(id="c1", name="read", arguments={"n": 1})
THOUGHT = Thinking(thinking="hm", signature="sig")


def heard(*content: UserBlock) -> TranscriptUnit:
    message = UserMessage(content=content, at=1, provenance=Provenance(kind=ProvenanceKind.HUMAN))
    return TranscriptUnit(message=message, first=0, last=0)


def said(*content: AssistantBlock, results: tuple[ToolResult, ...] = ()) -> TranscriptUnit:
    return TranscriptUnit(message=AssistantMessage(content=content, at=2), results=results, first=0, last=0)


def result(*content: UserBlock, is_error: bool = False) -> ToolResult:
    return ToolResult(call_id="c1", tool="read", content=content, at=3, is_error=is_error)


def prompt(*units: TranscriptUnit) -> Prompt:
    return Prompt(units=units)


TURN = prompt(
    heard(Text("a")),
    heard(Text("b"), PICTURE),
    said(THOUGHT, Text("let me see"), CALL, results=(result(Text("x"), PICTURE),)),
    heard(Text("quick")),
    said(Text("one")),
    said(THOUGHT, Text("two")),
)


@pytest.mark.requirement("P12")
def test_openai_gets_text_results_first_then_their_pictures_with_what_the_user_said() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    assert to_openai(TURN) == {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, picture],
            },
            {
                "role": "assistant",
                "content": "let me see",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"n":1}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
            {"role": "user", "content": [picture, {"type": "text", "text": "quick"}]},
            {"role": "assistant", "content": "one\n\ntwo"},
        ]
    }


@pytest.mark.requirement("P12")
def test_anthropic_gets_results_first_in_the_user_turn_and_signed_reasoning_only_where_it_opens_a_turn() -> (
    None
):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    answer = {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": [{"type": "text", "text": "x"}, picture],
        "is_error": False,
    }
    assert to_anthropic(TURN) == {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, picture],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "text", "text": "let me see"},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"n": 1}},
                ],
            },
            {"role": "user", "content": [answer, {"type": "text", "text": "quick"}]},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
            },
        ]
    }


@pytest.mark.requirement("P12")
def test_google_gets_responses_first_and_no_reasoning() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    response = {"functionResponse": {"id": "c1", "name": "read", "response": {"output": "x"}}}
    assert to_google(TURN) == {
        "contents": [
            {"role": "user", "parts": [{"text": "a"}, {"text": "b"}, picture]},
            {
                "role": "model",
                "parts": [
                    {"text": "let me see"},
                    {"functionCall": {"id": "c1", "name": "read", "args": {"n": 1}}},
                ],
            },
            {"role": "user", "parts": [response, picture, {"text": "quick"}]},
            {"role": "model", "parts": [{"text": "one"}, {"text": "two"}]},
        ]
    }


def test_reasoning_without_a_signature_is_not_sent_back() -> None:
    unsigned = prompt(heard(Text("a")), said(Thinking(thinking="hm"), Text("b")))
    assert to_anthropic(unsigned) == {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
        ]
    }


def test_a_picture_no_provider_takes_becomes_a_text() -> None:
    odd = prompt(heard(Image(mime="image/bmp", data="aGk="), Image(mime="image/png", data="")))
    text = {"text": "[an image that cannot be shown]"}
    assert to_google(odd) == {"contents": [{"role": "user", "parts": [text, text]}]}


def test_a_result_that_is_a_picture_is_named_and_an_error_is_called_one() -> None:
    shown = prompt(heard(Text("a")), said(CALL, results=(result(PICTURE, is_error=True),)))
    contents = to_google(shown)["contents"]
    assert isinstance(contents, list)
    assert contents[2] == {
        "role": "user",
        "parts": [
            {
                "functionResponse": {
                    "id": "c1",
                    "name": "read",
                    "response": {"error": "[the result of read is an image]"},
                }
            },
            {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        ],
    }
