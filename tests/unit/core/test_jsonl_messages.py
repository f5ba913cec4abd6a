import pytest

from roost.core.jsonl_messages import message_from_json, message_to_json
from roost.core.jsonvalue import JsonObject, JsonValue, as_object
from roost.core.messages import (
    AssistantMessage,
    Image,
    Message,
    Provenance,
    ProvenanceKind,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from roost.core.principals import OWNER, UNKNOWN, Principal, person

GUEST = person("telegram", "7")


def read(message: JsonObject) -> Message | None:
    return message_from_json(message, 50, GUEST)


def user(provenance: Provenance, sender: str | None = None) -> UserMessage:
    return UserMessage(content=(Text("hi"),), at=9, provenance=provenance, sender=sender)


ASSISTANT = AssistantMessage(
    content=(
        Thinking(thinking="hm", signature="sig"),
        Thinking(thinking="ah"),
        Text("ok"),
        ToolCall(id="c1", name="read", arguments={"path": "x"}),
    ),
    at=9,
    provider="p",
    model="m",
    api="chat",
    usage=Usage(input=1, output=2, cache_read=3, cache_write=4, total=10, cost_micros=1_250_000),
    stop=StopReason.TOOL_USE,
    error="late",
)
ASSISTANT_JSON: JsonObject = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        {"type": "thinking", "thinking": "ah"},
        {"type": "text", "text": "ok"},
        {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "x"}},
    ],
    "api": "chat",
    "provider": "p",
    "model": "m",
    "usage": {
        "input": 1,
        "output": 2,
        "cacheRead": 3,
        "cacheWrite": 4,
        "totalTokens": 10,
        "cost": {"total": 1.25},
    },
    "stopReason": "toolUse",
    "errorMessage": "late",
    "timestamp": 9,
}


def test_an_assistant_message_has_its_json_form_and_comes_back() -> None:
    assert message_to_json(ASSISTANT) == ASSISTANT_JSON
    assert read(ASSISTANT_JSON) == ASSISTANT


@pytest.mark.parametrize("details", [None, {"exit": 0}])
def test_a_tool_result_has_its_json_form_and_comes_back(details: JsonObject | None) -> None:
    result = ToolResult(
        call_id="c1",
        tool="read",
        content=(Text("x"), Image(mime="image/png", data="aGk=")),
        at=9,
        is_error=True,
        details=details,
    )
    written = message_to_json(result)
    extra = {} if details is None else {"details": details}
    assert written == {
        "role": "toolResult",
        "toolCallId": "c1",
        "toolName": "read",
        "content": [
            {"type": "text", "text": "x"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        ],
        **extra,
        "isError": True,
        "timestamp": 9,
    }
    assert read(written) == result


def test_one_text_of_a_user_is_written_plainly_and_more_as_blocks() -> None:
    said = user(Provenance(kind=ProvenanceKind.HUMAN, principal=GUEST), sender="Ann")
    written = message_to_json(said)
    assert (written["content"], written["sender"]) == ("hi", "Ann")
    assert read(written) == said
    both = UserMessage(content=(Text("a"), Text("b")), at=9, provenance=said.provenance)
    assert message_to_json(both)["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read(message_to_json(both)) == both


@pytest.mark.parametrize(
    ("kind", "exported"),
    [
        (ProvenanceKind.HUMAN, {"kind": "external_user"}),
        (ProvenanceKind.INTER_SESSION, {"kind": "inter_session"}),
        (ProvenanceKind.SUBAGENT, {"kind": "internal_system", "sourceRole": "subagent"}),
        (ProvenanceKind.SCHEDULE, {"kind": "internal_system"}),
        (ProvenanceKind.HOOK, {"kind": "internal_system"}),
        (ProvenanceKind.SYSTEM, {"kind": "internal_system"}),
    ],
)
def test_provenance_is_exported_in_three_kinds_and_of_its_principal_whether_it_is_the_owner(
    kind: ProvenanceKind, exported: JsonObject
) -> None:
    assert message_to_json(user(Provenance(kind=kind, principal=OWNER)))["provenance"] == exported
    assert message_to_json(user(Provenance(kind=kind, principal=GUEST)))["provenance"] == {
        **exported,
        "fromOwner": False,
    }


@pytest.mark.parametrize(
    ("said", "importer", "speaker"),
    [
        (False, OWNER, UNKNOWN),
        (False, GUEST, GUEST),
        (True, OWNER, OWNER),
        (True, GUEST, GUEST),
        (None, OWNER, OWNER),
        (0, OWNER, OWNER),
    ],
)
def test_what_another_said_is_never_read_as_the_owners(
    said: JsonValue, importer: Principal, speaker: Principal
) -> None:
    line: JsonObject = {"role": "user", "content": "hi", "provenance": {"fromOwner": said}}
    message = message_from_json(line, 0, importer)
    assert isinstance(message, UserMessage)
    assert message.provenance.principal == speaker


@pytest.mark.requirement("D60")
@pytest.mark.parametrize(
    ("source", "role"),
    [("agent:main:subagent:u", "subagent"), ("agent:main:main", None), ("no key", None), (None, None)],
)
def test_a_message_that_a_sub_agent_sent_says_so(source: str | None, role: str | None) -> None:
    sent = Provenance(kind=ProvenanceKind.INTER_SESSION, principal=GUEST, source_session=source)
    assert as_object(message_to_json(user(sent))["provenance"]).get("sourceRole") == role


@pytest.mark.requirement("D60")
def test_the_source_of_a_message_is_exported() -> None:
    sent = Provenance(
        kind=ProvenanceKind.INTER_SESSION,
        principal=GUEST,
        source_session="agent:a:main",
        source_channel="telegram",
        source_tool="sessions_send",
    )
    written = message_to_json(user(sent))
    assert written["provenance"] == {
        "kind": "inter_session",
        "sourceSessionKey": "agent:a:main",
        "sourceChannel": "telegram",
        "sourceTool": "sessions_send",
        "fromOwner": False,
    }
    assert read(written) == user(sent)


@pytest.mark.requirement("S25")
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (None, ProvenanceKind.HUMAN),
        ({"kind": "external_user"}, ProvenanceKind.HUMAN),
        ({"kind": "inter_session", "sourceRole": "subagent"}, ProvenanceKind.INTER_SESSION),
        ({"kind": "internal_system", "sourceRole": "subagent"}, ProvenanceKind.SUBAGENT),
        ({"kind": "internal_system"}, ProvenanceKind.SYSTEM),
        ({"kind": "something else"}, ProvenanceKind.SYSTEM),
    ],
)
def test_what_a_line_says_of_its_origin_is_read_under_the_importers_principal(
    said: JsonValue, kind: ProvenanceKind
) -> None:
    message = read({"role": "user", "content": "hi", "provenance": said})
    assert isinstance(message, UserMessage)
    assert message.provenance == Provenance(kind=kind, principal=GUEST)
    assert message.provenance.principal != OWNER


def test_a_message_without_its_own_time_has_that_of_its_line() -> None:
    message = read({"role": "user", "content": "hi", "timestamp": "soon"})
    assert message is not None
    assert message.at == 50


@pytest.mark.parametrize(
    "message", [{}, {"role": "robot", "content": "x"}, {"role": "user"}, {"role": "assistant", "content": {}}]
)
def test_what_is_no_message_is_none(message: JsonObject) -> None:
    assert read(message) is None


def test_parts_of_the_wrong_shape_are_passed_over() -> None:
    content: JsonValue = ["x", {"type": "audio"}, {"type": "text"}, {"type": "text", "text": "ok"}]
    person_said = read({"role": "user", "content": content})
    assert person_said is not None
    assert person_said.content == (Text(""), Text("ok"))
    answered = read({"role": "assistant", "content": content, "stopReason": "tired", "usage": 4})
    assert answered == AssistantMessage(content=(Text(""), Text("ok")), at=50)
    assert read({"role": "assistant", "content": "plain"}) == AssistantMessage(
        content=(Text("plain"),), at=50
    )


@pytest.mark.parametrize(
    ("usage", "read_as"),
    [
        ({"input": True, "output": -1, "totalTokens": 2**63}, Usage()),
        ({"input": 1.5, "cost": {"total": -1}}, Usage()),
        ({"cost": {"total": 1e12}}, Usage()),
        ({"cost": {"total": "free"}}, Usage()),
        ({"cost": {"total": 2}}, Usage(cost_micros=2_000_000)),
    ],
)
def test_counts_that_cannot_be_are_none(usage: JsonObject, read_as: Usage) -> None:
    message = read({"role": "assistant", "content": [], "usage": usage})
    assert isinstance(message, AssistantMessage)
    assert message.usage == read_as


def test_whole_dollars_are_written_whole() -> None:
    message = AssistantMessage(content=(), at=1, usage=Usage(cost_micros=3_000_000))
    usage = message_to_json(message)["usage"]
    assert isinstance(usage, dict)
    assert repr(usage["cost"]) == "{'total': 3}"
