"""Entry bodies survive the store's own text."""

import pytest

from roost.core.errors import InvalidInput, StoreCorrupt
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Image,
    Notice,
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
from roost.core.principals import OWNER, Principal, person
from roost.stores.bodies import SHORT, dump_body, load_body

BODIES: list[Body] = [
    UserMessage(
        content=(Text("héllo\n世界 \U0001f426"), Image(mime="image/png", data="aGk=")),
        at=1,
        provenance=Provenance(
            kind=ProvenanceKind.INTER_SESSION,
            principal=person("telegram", "1:2"),
            source_session="agent:main:main",
            source_channel="telegram",
            source_tool="sessions_send",
        ),
        sender="Ada",
    ),
    UserMessage(content=(), at=0, provenance=Provenance(kind=ProvenanceKind.HUMAN)),
    UserMessage(
        content=(Text("both"),),
        at=0,
        provenance=Provenance(
            kind=ProvenanceKind.HUMAN,
            principal=Principal.parse("agent:main"),
            voices=(OWNER, person("telegram", "1:2")),
        ),
    ),
    AssistantMessage(
        content=(
            Thinking(thinking="hm", signature="s"),
            Thinking(thinking="", signature=None),
            Text(""),
            ToolCall(id="c1", name="read", arguments={"text": "x", "nested": {"list": [1, 2.5, None, True]}}),
        ),
        at=2**53,
        provider="p",
        model="m",
        api="a",
        usage=Usage(input=1, output=2, cache_read=3, cache_write=4, total=10, cost_micros=5),
        stop=StopReason.TOOL_USE,
        error="e",
    ),
    ToolResult(
        call_id="c1",
        tool="read",
        content=(Text("text"), Image(mime="image/gif", data="")),
        at=3,
        is_error=True,
        details={"name": "d", "thinking": "t"},
    ),
    ToolResult(call_id="c2", tool="list", content=(), at=3),
    Compaction(summary="s", first_kept_id=None, tokens_before=9, at=4, tokens_after=3),
    Compaction(summary="", first_kept_id="e1", tokens_before=0, at=4),
    Notice(kind="model_change", at=5, data={"model": "x"}),
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_a_body_is_read_back_as_it_was_written(body: Body) -> None:
    assert load_body(dump_body(body)) == body


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"t":"riddle"}', '{"t":"user","at":1}'])
def test_a_text_that_is_no_body_is_told_as_damage(text: str) -> None:
    with pytest.raises(StoreCorrupt):
        load_body(text)


def test_a_body_that_no_text_can_hold_is_the_callers_fault() -> None:
    with pytest.raises(InvalidInput):
        dump_body(Notice(kind="n", at=1, data={"number": 2**70}))


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_readers_share_a_body_only_where_none_can_change_it(body: Body) -> None:
    one, other = load_body(dump_body(body)), load_body(dump_body(body))
    shared = isinstance(body, UserMessage) or (
        isinstance(body, AssistantMessage) and not any(isinstance(part, ToolCall) for part in body.content)
    )
    assert (one is other) is shared


def test_a_long_body_is_not_kept() -> None:
    long = dump_body(
        UserMessage(content=(Text("x" * SHORT),), at=1, provenance=Provenance(kind=ProvenanceKind.HUMAN))
    )
    assert load_body(long) is not load_body(long)
