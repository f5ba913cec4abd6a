"""Each validator accepts a healthy request and names each rule that a broken one breaks."""

from collections.abc import Callable

import pytest

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.messages import Provenance, ProvenanceKind, Text, UserMessage
from roost.core.transcript import Prompt, TranscriptUnit
from roost.testing.providers import (
    PROVIDERS,
    anthropic_violations,
    google_violations,
    openai_violations,
    violations,
)

Check = Callable[[JsonObject], tuple[str, ...]]


def found(check: Check, field: str, messages: JsonValue) -> str:
    return "; ".join(check({field: messages}))


def text(words: str = "hi") -> JsonObject:
    return {"type": "text", "text": words}


# -- OpenAI ------------------------------------------------------------------------------------------

O_USER: JsonObject = {"role": "user", "content": [text()]}
O_TEXT: JsonObject = {"role": "assistant", "content": "hello"}


def o_calls(*ids: JsonValue, name: JsonValue = "read", arguments: JsonValue = "{}") -> JsonObject:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def o_result(call_id: JsonValue, content: JsonValue = "data") -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@pytest.mark.parametrize(
    "messages",
    [
        [O_USER],
        [{"role": "user", "content": "plain"}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}],
        [O_USER, O_TEXT, O_USER],
        [O_USER, o_calls("a", "b"), o_result("b"), o_result("a")],
        [O_USER, o_calls("a"), o_result("a"), O_USER, O_TEXT, O_USER],
        [O_USER, o_calls("a"), o_result("a"), o_calls("b"), o_result("b")],
    ],
)
def test_openai_accepts_a_healthy_request(messages: JsonValue) -> None:
    assert openai_violations({"messages": messages}) == ()


@pytest.mark.parametrize(
    ("messages", "rule"),
    [
        ([], "no message"),
        ("nonsense", "no message"),
        ([O_TEXT, O_USER], "first message is not a user's"),
        ([O_USER, O_TEXT], "last message is the model's own"),
        ([O_USER, O_USER], "two messages of 'user' in a row"),
        ([O_USER, O_TEXT, O_TEXT, O_USER], "two messages of 'assistant' in a row"),
        ([O_USER, {"role": "robot", "content": "x"}, O_USER], "unknown role 'robot'"),
        ([{"role": "user", "content": []}], "empty content"),
        ([{"role": "user", "content": " "}], "empty content"),
        ([{"role": "user", "content": [text(" ")]}], "empty or unknown part"),
        ([{"role": "user", "content": [{"type": "audio"}]}], "empty or unknown part"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "empty or unknown part"),
        ([O_USER, {"role": "assistant", "content": ""}, O_USER], "says nothing and calls nothing"),
        ([O_USER, {**O_TEXT, "tool_calls": []}, O_USER], "empty list of calls"),
        ([O_USER, o_calls("a")], "calls ['a'] have no result"),
        ([O_USER, o_calls("a"), O_USER], "calls ['a'] have no result"),
        ([O_USER, o_calls("a", "b"), o_result("a"), O_USER], "calls ['b'] have no result"),
        ([O_USER, o_result("a")], "answers no call just made"),
        ([O_USER, o_calls("a"), o_result("a"), o_result("a")], "answers no call just made"),
        ([O_USER, o_calls("a"), o_result("a"), O_TEXT, o_result("a")], "answers no call just made"),
        ([O_USER, o_calls("a"), o_result("a", "")], "empty tool result"),
        ([O_USER, o_calls("a", "a"), o_result("a")], "used twice"),
        ([O_USER, o_calls("a"), o_result("a"), o_calls("a"), o_result("a")], "used twice"),
        ([O_USER, o_calls("a b"), o_result("a b")], "bad call id"),
        ([O_USER, o_calls(7), o_result(7)], "bad call id"),
        ([O_USER, o_calls("a", name="x y"), o_result("a")], "bad tool name"),
        ([O_USER, o_calls("a", arguments="[]"), o_result("a")], "arguments are no JSON object"),
        ([O_USER, o_calls("a", arguments="{"), o_result("a")], "arguments are no JSON object"),
    ],
)
def test_openai_refuses(messages: JsonValue, rule: str) -> None:
    assert rule in found(openai_violations, "messages", messages)


# -- Anthropic ---------------------------------------------------------------------------------------

A_USER: JsonObject = {"role": "user", "content": [text()]}
A_TEXT: JsonObject = {"role": "assistant", "content": [text("hello")]}
THOUGHT: JsonObject = {"type": "thinking", "thinking": "hm", "signature": "sig"}


def a_said(*blocks: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": list(blocks)}


def a_heard(*blocks: JsonObject) -> JsonObject:
    return {"role": "user", "content": list(blocks)}


def a_call(call_id: str, name: JsonValue = "read", arguments: JsonValue = None) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if arguments is None else arguments}


def a_result(call_id: str, *content: JsonObject) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": list(content or (text("data"),))}


def picture(mime: str = "image/png", data: str = "aGk=") -> JsonObject:
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}


@pytest.mark.parametrize(
    "messages",
    [
        [A_USER],
        [a_heard(picture())],
        [
            A_USER,
            a_said(THOUGHT, THOUGHT, text("so"), a_call("a")),
            a_heard(a_result("a", picture()), text()),
        ],
        [A_USER, a_said(a_call("a"), a_call("b")), a_heard(a_result("b"), a_result("a"))],
    ],
)
def test_anthropic_accepts_a_healthy_request(messages: JsonValue) -> None:
    assert anthropic_violations({"messages": messages}) == ()


@pytest.mark.parametrize(
    ("messages", "rule"),
    [
        ([], "no message"),
        ([A_TEXT, A_USER], "first message is not a user's"),
        ([A_USER, A_TEXT], "last message is the model's own"),
        ([A_USER, A_USER], "two messages of 'user' in a row"),
        ([a_heard()], "empty content"),
        ([a_heard(text("\n"))], "empty or unknown block"),
        ([a_heard(picture(mime="image/bmp"))], "empty or unknown block"),
        ([a_heard(picture(data=""))], "empty or unknown block"),
        ([A_USER, a_said(text("")), A_USER], "empty or unknown block"),
        ([A_USER, a_said(picture()), A_USER], "empty or unknown block"),
        ([A_USER, a_said(THOUGHT), A_USER], "says nothing and calls nothing"),
        ([A_USER, a_said(text(), THOUGHT), A_USER], "reasoning after other content"),
        ([A_USER, a_said({**THOUGHT, "signature": ""}, text()), A_USER], "reasoning without a signature"),
        ([A_USER, a_said(a_call("a"))], "calls ['a'] have no result"),
        ([A_USER, a_said(a_call("a")), A_USER], "calls ['a'] have no result"),
        ([A_USER, a_said(a_call("a")), A_TEXT], "calls ['a'] have no result"),
        ([a_heard(a_result("a"))], "answers no call just made"),
        ([A_USER, a_said(a_call("a")), a_heard(a_result("a"), a_result("a"))], "answers no call just made"),
        (
            [A_USER, a_said(a_call("a")), a_heard(text(), a_result("a"))],
            "a result stands after other content",
        ),
        ([A_USER, a_said(a_call("a")), a_heard({**a_result("a"), "content": []})], "empty tool result"),
        (
            [A_USER, a_said(a_call("a")), a_heard(a_result("a", text("")))],
            "empty or unknown block in a result",
        ),
        ([A_USER, a_said(a_call("a"), a_call("a")), a_heard(a_result("a"))], "used twice"),
        ([A_USER, a_said(a_call("a|b")), a_heard(a_result("a|b"))], "bad call id"),
        ([A_USER, a_said(a_call("a", name=None)), a_heard(a_result("a"))], "bad tool name"),
        ([A_USER, a_said(a_call("a", arguments="x")), a_heard(a_result("a"))], "input is no object"),
    ],
)
def test_anthropic_refuses(messages: JsonValue, rule: str) -> None:
    assert rule in found(anthropic_violations, "messages", messages)


# -- Google ------------------------------------------------------------------------------------------

G_USER: JsonObject = {"role": "user", "parts": [{"text": "hi"}]}
G_TEXT: JsonObject = {"role": "model", "parts": [{"text": "hello"}]}


def g_said(*parts: JsonObject) -> JsonObject:
    return {"role": "model", "parts": list(parts)}


def g_heard(*parts: JsonObject) -> JsonObject:
    return {"role": "user", "parts": list(parts)}


def g_call(call_id: str, name: str = "read", arguments: JsonValue = None) -> JsonObject:
    return {"functionCall": {"id": call_id, "name": name, "args": {} if arguments is None else arguments}}


def g_result(call_id: str, name: str = "read", response: JsonValue = None) -> JsonObject:
    return {"functionResponse": {"id": call_id, "name": name, "response": response or {"output": "x"}}}


@pytest.mark.parametrize(
    "contents",
    [
        [G_USER],
        [g_heard({"inlineData": {"mimeType": "image/png", "data": "aGk="}})],
        [G_USER, g_said({"text": "so"}, g_call("a"), g_call("b")), g_heard(g_result("a"), g_result("b"))],
    ],
)
def test_google_accepts_a_healthy_request(contents: JsonValue) -> None:
    assert google_violations({"contents": contents}) == ()


@pytest.mark.parametrize(
    ("contents", "rule"),
    [
        ([], "no message"),
        ([G_TEXT, G_USER], "first message is not a user's"),
        ([G_USER, G_TEXT], "last message is the model's own"),
        ([G_USER, G_TEXT, G_TEXT, G_USER], "two messages of 'model' in a row"),
        ([g_heard()], "no parts"),
        ([g_heard({"text": ""})], "empty or unknown part"),
        ([g_heard({"inlineData": {"mimeType": "image/png"}})], "empty or unknown part"),
        ([G_USER, g_said({"thought": True}), G_USER], "empty or unknown part"),
        ([G_USER, g_said(g_call("a")), G_USER], "calls ['a'] have no result"),
        ([G_USER, g_said(g_call("a"))], "calls ['a'] have no result"),
        ([G_USER, g_said(g_call("a")), G_TEXT], "calls ['a'] have no result"),
        ([g_heard(g_result("a"))], "answers no call just made"),
        ([G_USER, g_said(g_call("a")), g_heard({"text": "x"}, g_result("a"))], "a result stands after other"),
        ([G_USER, g_said(g_call("a")), g_heard(g_result("a", name="write"))], "names another function"),
        (
            [G_USER, g_said(g_call("a")), g_heard({"functionResponse": {"id": "a", "name": "read"}})],
            "empty response",
        ),
        ([G_USER, g_said(g_call("a", name="1x")), g_heard(g_result("a"))], "bad tool name"),
        ([G_USER, g_said(g_call("a", arguments=[1])), g_heard(g_result("a"))], "args are no object"),
    ],
)
def test_google_refuses(contents: JsonValue, rule: str) -> None:
    assert rule in found(google_violations, "contents", contents)


def test_a_prompt_is_judged_by_every_provider() -> None:
    words = UserMessage(content=(Text("hi"),), at=1, provenance=Provenance(kind=ProvenanceKind.HUMAN))
    assert violations(Prompt(units=(TranscriptUnit(message=words, first=0, last=0),))) == ()
    assert {rule.split(":")[0] for rule in violations(Prompt())} == {provider.name for provider in PROVIDERS}
