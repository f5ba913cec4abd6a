from dataclasses import replace

import pytest

from roost.core.exchanges import CompletionStatus, ExchangeState, Phase, Receipt, Sent
from roost.core.remotes import RemoteSession
from tests import samples


def test_an_exchange_begins_with_the_primary_run_and_no_turn_taken() -> None:
    exchange = samples.exchange()
    assert (exchange.phase, exchange.state, exchange.turn) == (Phase.PRIMARY, ExchangeState.ACCEPTED, 0)


def test_a_completion_is_owed_from_the_spawn_on() -> None:
    owed = samples.completion()
    assert (owed.status, owed.settled_at, owed.acknowledged_at) == (CompletionStatus.PENDING, None, None)


@pytest.mark.requirement("P6")
def test_a_message_only_goes_forward_and_only_until_it_is_answered() -> None:
    sent = samples.exchange()
    running = sent.come_to(ExchangeState.RUNNING)
    assert running.state is ExchangeState.RUNNING
    assert running.come_to(ExchangeState.DELIVERED) == running
    replied = replace(running, state=ExchangeState.REPLIED)
    assert replied.come_to(ExchangeState.RUNNING) == replied
    turning = samples.exchange(Phase.LOOP)
    assert turning.come_to(ExchangeState.DELIVERED) == turning


def test_who_stops_waiting_for_what_has_come_changes_nothing() -> None:
    awaited = replace(samples.exchange(), sent=Sent(awaited=True))
    assert not awaited.left().sent.awaited
    assert samples.exchange().left() == samples.exchange()
    replied = replace(awaited, state=ExchangeState.REPLIED)
    assert replied.left() == replied


def test_an_exchange_is_addressed_to_its_target_or_to_a_session_of_another_gateway() -> None:
    assert samples.exchange().addressee == str(samples.OPS)
    office = Sent(remote=RemoteSession(gateway="office", session="main"))
    assert replace(samples.exchange(), sent=office).addressee == "office/main"


@pytest.mark.requirement("F1")
@pytest.mark.parametrize(
    ("state", "reply", "receipt"),
    [
        (ExchangeState.ACCEPTED, None, Receipt.WAITING),
        (ExchangeState.DELIVERED, None, Receipt.DELIVERED),
        (ExchangeState.RUNNING, None, Receipt.READ),
        (ExchangeState.REPLIED, "yes", Receipt.REPLIED),
        (ExchangeState.REPLIED, None, Receipt.READ),
        (ExchangeState.FAILED, None, Receipt.DEAD),
        (ExchangeState.EXPIRED, None, Receipt.DEAD),
    ],
)
def test_a_receipt_says_how_far_a_message_came(
    state: ExchangeState, reply: str | None, receipt: Receipt
) -> None:
    assert replace(samples.exchange(), state=state, first_reply=reply).receipt is receipt
