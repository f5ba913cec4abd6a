from dataclasses import replace
from math import inf, nan

import pytest

from roost.core.addresses import Address, Origin
from roost.core.effects import AddDelivery, ChangeSession
from roost.core.entries import EntryDraft
from roost.core.errors import InvalidInput
from roost.core.inbound import Source
from roost.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult
from roost.core.seals import Seals
from roost.core.sessions import Facts, Labels, SessionKind
from roost.stores.sealing import without_secrets
from roost.testing import builders
from roost.testing.builders import MAIN

SECRET, KEPT = "the-configured-secret", "{{secret:a.b}}"
SEALS = Seals({SECRET: "a.b"})


@pytest.mark.requirement("P24")
def test_every_text_of_an_entry_is_looked_at() -> None:
    call = ToolCall(id="1", name="exec", arguments={"command": f"echo {SECRET}", SECRET: [SECRET, 1, None]})
    said = AssistantMessage(content=(Text(f"a {SECRET}"), call), at=1, error=SECRET)
    result = ToolResult(call_id="1", tool="exec", content=(Text(SECRET),), at=2, details={"out": SECRET})
    drafts = (EntryDraft(id="a", body=said, source=SECRET), EntryDraft(id="b", body=result))
    kept = without_secrets(drafts, SEALS)
    assert SECRET not in repr(kept)
    assert kept[0].body == AssistantMessage(
        content=(
            Text(f"a {KEPT}"),
            ToolCall(id="1", name="exec", arguments={"command": f"echo {KEPT}", KEPT: [KEPT, 1, None]}),
        ),
        at=1,
        error=KEPT,
    )


def test_what_holds_none_is_the_same_value() -> None:
    session = builders.session()
    delivery = AddDelivery(delivery=builders.delivery("d"))
    for value in (session, delivery, {"a": [1, {"b": "c"}]}, Image(mime="image/png", data=SECRET)):
        assert without_secrets(value, SEALS) is value


def test_what_a_message_is_known_by_and_led_by_is_kept_whole() -> None:
    place = Address(channel="loopback", to=SECRET)
    known = Source(channel="loopback", external_id=SECRET, idempotency_key=SECRET)
    facts = Facts(kind=SessionKind.OTHER, peer=SECRET)
    message = replace(builders.inbound("m", source=known), reply_to=place)
    for value in (place, message, facts, builders.session()._replace(facts=facts, origin=Origin(to=SECRET))):
        assert without_secrets(value, SEALS) is value


def test_a_session_is_changed_without_its_key() -> None:
    effect = ChangeSession(key=MAIN, labels=Labels(label=f"my {SECRET}"))
    assert without_secrets(effect, SEALS) == ChangeSession(key=MAIN, labels=Labels(label=f"my {KEPT}"))
    row = builders.session()
    named = row._replace(labels=Labels(label=SECRET))
    assert without_secrets(named, SEALS) == row._replace(labels=Labels(label=KEPT))


def test_reasoning_that_is_changed_loses_its_signature() -> None:
    assert without_secrets(Thinking(thinking=SECRET, signature="s"), SEALS) == Thinking(thinking=KEPT)


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_a_number_that_would_be_read_back_as_nothing_is_refused(number: float) -> None:
    call = ToolCall(id="1", name="exec", arguments={"fine": 1.5, "found": [{"deep": number}]})
    draft = EntryDraft(id="a", body=AssistantMessage(content=(Text("a"), call), at=1))
    with pytest.raises(InvalidInput, match="finite"):
        without_secrets((draft,), SEALS)
