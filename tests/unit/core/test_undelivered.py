"""What follows from an announcement that its chat never got."""

from dataclasses import replace

import pytest

from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState
from roost.core.effects import AppendEntries
from roost.core.messages import Provenance, ProvenanceKind, UserMessage, text_of
from roost.core.principals import OWNER, person
from roost.core.runs import Run
from roost.core.undelivered import is_lost, told_of_failure
from roost.testing import builders
from tests import samples
from tests.samples import CHILD, MAIN, NOON

ALICE = person("telegram", "7")
CHILDS = replace(samples.run("c-run", key=CHILD), cause=replace(samples.run().cause, principal=ALICE))
SENDING = replace(builders.delivery("d-1", MAIN), kind=DeliveryKind.ANNOUNCE, state=DeliveryState.SENDING)
FAILED = replace(SENDING, state=DeliveryState.FAILED, error="expired: no 12 is down")


def told(failed: Delivery, said_by: Run | None) -> UserMessage:
    (effect,) = told_of_failure(failed, (failed,), said_by, OWNER, NOON)
    assert isinstance(effect, AppendEntries)
    (draft,) = effect.drafts
    assert effect.key == MAIN
    assert isinstance(draft.body, UserMessage)
    return draft.body


@pytest.mark.parametrize(
    ("said_by", "what", "provenance"),
    [
        (
            CHILDS,
            f"How {CHILD} ended",
            Provenance(kind=ProvenanceKind.SYSTEM, principal=ALICE, source_session=str(CHILD)),
        ),
        (samples.run("a-run"), "What was announced here", Provenance(kind=ProvenanceKind.SYSTEM)),
        (None, "What was announced here", Provenance(kind=ProvenanceKind.SYSTEM)),
    ],
    ids=["a child's end", "its own word", "of a run that was removed"],
)
def test_the_session_is_told_what_its_chat_never_got(
    said_by: Run | None, what: str, provenance: Provenance
) -> None:
    message = told(FAILED, said_by)
    assert message.provenance == provenance
    assert text_of(message).startswith(f"{what} was not told in the chat on {FAILED.address.channel}: ")


def test_what_the_channel_said_of_it_stays_with_the_delivery() -> None:
    assert "its time to be sent is over" in text_of(told(FAILED, None))
    refused = replace(FAILED, error="there is no chat 12")
    assert "it could not be sent" in text_of(told(refused, None))
    assert not any("12" in text_of(told(one, None)) for one in (FAILED, refused))


@pytest.mark.parametrize("kind", [one for one in DeliveryKind if one is not DeliveryKind.ANNOUNCE])
def test_other_messages_are_no_announcements(kind: DeliveryKind) -> None:
    assert not is_lost(replace(SENDING, kind=kind), replace(FAILED, kind=kind))


@pytest.mark.parametrize("state", [one for one in DeliveryState if one is not DeliveryState.FAILED])
def test_what_was_not_given_up_or_was_before_is_not_lost(state: DeliveryState) -> None:
    assert is_lost(SENDING, FAILED)
    assert not is_lost(SENDING, replace(FAILED, state=state))
    assert not is_lost(FAILED, FAILED)


def test_of_an_announcement_in_parts_it_is_told_once() -> None:
    part = replace(FAILED, run_id="c-run")
    beside = replace(part, id="d-2")
    assert told_of_failure(part, (part, beside), None, OWNER, NOON) == ()
    another = (replace(beside, run_id="other"), replace(beside, created_at=NOON + 1), part)
    assert told_of_failure(part, another, None, OWNER, NOON) != ()
    assert told_of_failure(FAILED, (replace(FAILED, id="d-2"),), None, OWNER, NOON) != ()
