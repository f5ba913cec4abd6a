from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.addresses import Address, ChatType, Origin
from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState
from roost.core.errors import InvalidInput, StoreCorrupt
from roost.core.exchanges import Completion, CompletionStatus, Exchange, ExchangeState, Phase
from roost.core.inbound import InboundRecord, InboundState, InputMode, Source
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, Body, Image, Notice, Text, ToolCall
from roost.core.principals import OWNER, person
from roost.core.runs import Claim, Outcome, Progress, Request, RunKind, RunState, Step, StepKind
from roost.core.sessions import Counters, Labels, Overrides, SendOverride
from roost.core.threads import ThreadBinding
from roost.stores.codec import (
    decode,
    decode_shared,
    encode,
    key_text,
    parse_key,
    parse_principal,
    sound,
    stored_key,
)
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON

THREAD = SessionKey.parse("agent:main:telegram:group:-100:topic:7:thread:Ü: x")
CLAIM = Claim(id="r-1", gateway="first", epoch=3, fence=2)

FULL = (
    replace(
        builders.run("r-1", THREAD, request=Request(kind=RunKind.EXCHANGE, requester=MAIN, deadline=5)),
        state=RunState.DONE,
        started_at=NOON,
        progress=Progress(step=Step(kind=StepKind.TOOL, at=1, tool="t", reenterable=True), model_calls=2),
        outcome=Outcome(state=RunState.DONE, at=9, error="e", model_reason="asked for", yielded=True),
        claim=CLAIM,
        fence=2,
        session_id="s-1",
    ),
    InboundRecord(
        inbound=replace(
            builders.inbound("m-1", THREAD, source=Source(channel="web", external_id="1")),
            principal=person("telegram", "a:b"),
            content=(Text("a"), Image(mime="image/png", data="aGk="), Text("")),
            hops=(MAIN, THREAD),
        ),
        state=InboundState.MERGED,
        mode=InputMode.STEER,
        merged_into="m-2",
    ),
    Delivery(
        id="d-1",
        key=THREAD,
        address=CHAT,
        kind=DeliveryKind.NOTICE,
        text='"\\\n\x00😀',
        created_at=NOON,
        state=DeliveryState.SENDING,
        claim=CLAIM,
        ready_at=2**53,
    ),
    Exchange(
        id="x-1",
        requester=MAIN,
        target=THREAD,
        request="q",
        created_at=1,
        max_turns=5,
        phase=Phase.LOOP,
        state=ExchangeState.REPLIED,
        hops=(MAIN,),
    ),
    Completion(
        child_run="c-1",
        child=THREAD,
        requester=MAIN,
        batch="r-1",
        created_at=1,
        status=CompletionStatus.TIMEOUT,
        settled_at=0,
    ),
    ThreadBinding(address=CHAT, key=MAIN, bound_by=OWNER, bound_at=1, used_at=2, idle_ms=3),
    Origin(label="Alice", chat_type=ChatType.GROUP),
    Overrides(send_policy=SendOverride.DENY, queue_cap=0),
)
PLAIN = (
    builders.run("r-1"),
    InboundRecord(inbound=builders.inbound("m-1"), state=InboundState.PENDING),
    builders.delivery("d-1"),
    Labels(),
    Origin(),
    Counters(),
    CHAT,
)


@pytest.mark.parametrize("value", [*FULL, *PLAIN], ids=lambda value: type(value).__name__)
def test_a_value_reads_back_as_it_was_written(value: object) -> None:
    assert decode(type(value), encode(value)) == value


@given(
    st.builds(
        Labels, label=st.none() | st.text(), display_name=st.none() | st.text(), subject=st.none() | st.text()
    )
)
def test_any_text_reads_back_as_it_was_written(labels: Labels) -> None:
    assert decode(Labels, encode(labels)) == labels


def test_what_holds_its_default_is_left_out() -> None:
    assert encode(Address(channel="web", to="me")) == '{"channel":"web","to":"me"}'
    assert encode(Counters()) == "{}"
    assert encode(Counters(total=3)) == '{"total":3}'


def test_keys_and_principals_are_written_as_texts() -> None:
    text = encode(ThreadBinding(address=CHAT, key=THREAD, bound_by=OWNER, bound_at=1, used_at=2))
    assert f'"key":"{THREAD}"' in text
    assert '"bound_by":"owner"' in text


def test_members_of_a_union_carry_their_name() -> None:
    call = AssistantMessage(
        content=(Text("a"), ToolCall(id="c", name="t", arguments={"deep": [{"x": 1}]})), at=NOON
    )
    text = encode(call, Body)
    assert '"type":"AssistantMessage"' in text
    assert '"type":"ToolCall"' in text
    for body in (call, Notice(kind="n", at=1, data={"type": "kept"})):
        assert decode(Body, encode(body, Body)) == body


def test_a_tuple_of_texts_is_a_list() -> None:
    assert encode(("a", "b"), tuple[str, ...]) == '["a","b"]'
    assert decode(tuple[str, ...], '["a","b"]') == ("a", "b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    name: str
    count: int = 7
    place: Address | None = None


def test_a_new_field_with_a_default_needs_no_migration() -> None:
    assert decode(After, encode(Before(name="old"))) == After(name="old")


def test_a_field_that_a_newer_version_wrote_is_passed_over() -> None:
    assert decode(Before, encode(After(name="new", count=9))) == Before(name="new")


@pytest.mark.parametrize("value", [Labels(label="half \ud83d"), Counters(total=2**70)])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        encode(value)


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (Labels, "{"),
        (Labels, "[]"),
        (Address, '{"channel":"web"}'),
        (Origin, '{"chat_type":"crowd"}'),
        (ThreadBinding, '{"key":"nonsense"}'),
        (Body, '{"type":"Nothing"}'),
        (Body, "{}"),
    ],
)
def test_what_cannot_be_read_is_reported_as_damage(hint: object, text: str) -> None:
    with pytest.raises(StoreCorrupt):
        decode(hint, text)


def test_what_reads_a_column_tells_damage_from_bad_input() -> None:
    assert stored_key(key_text(THREAD)) == THREAD
    with pytest.raises(InvalidInput):
        parse_key("nonsense")
    with pytest.raises(StoreCorrupt):
        stored_key("nonsense")
    with pytest.raises(StoreCorrupt):
        sound(ChatType)("crowd")


def test_what_many_rows_share_is_read_once() -> None:
    assert decode_shared(Labels, '{"label":"home"}') is decode_shared(Labels, '{"label":"home"}')
    assert decode_shared(Labels, '{"label":"home"}') == Labels(label="home")


def test_texts_of_keys_and_principals_are_read_by_their_own_parsers() -> None:
    assert parse_key(key_text(THREAD)) == THREAD
    assert parse_principal("person:telegram:1") == person("telegram", "1")
