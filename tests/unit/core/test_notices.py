import pytest

from roost.core.deliveries import DeliveryKind, DeliveryState
from roost.core.effects import AddDelivery
from roost.core.lifecycle import ResetMode, ResetRule, Stale, StaleReason
from roost.core.notices import cleared_line, derived_id, dropped_line, notice, reset_line
from tests import samples

RULE = ResetRule(mode=ResetMode.DAILY, at_hour=4, idle_minutes=90)


def test_a_notice_is_a_delivery_that_waits_to_be_sent() -> None:
    (told,) = notice(samples.MAIN, samples.CHAT, "Hello.", at=7, about="m1")
    assert isinstance(told, AddDelivery)
    sent = told.delivery
    assert (sent.kind, sent.state, sent.address) == (DeliveryKind.NOTICE, DeliveryState.INTENT, samples.CHAT)
    assert (sent.text, sent.created_at, sent.ready_at) == ("Hello.", 7, 7)


def test_saying_the_same_thing_about_the_same_thing_is_the_same_delivery() -> None:
    first = notice(samples.MAIN, samples.CHAT, "Hello.", at=7, about="m1")
    assert notice(samples.MAIN, samples.CHAT, "Hello.", at=7, about="m1") == first
    assert notice(samples.MAIN, samples.CHAT, "Hello.", at=7, about="m2") != first


def test_without_an_address_nobody_is_told() -> None:
    assert notice(samples.MAIN, None, "Hello.", at=7, about="m1") == ()


def test_parts_of_an_id_do_not_run_together() -> None:
    ways = (("ab", "c"), ("a", "bc"), ("abc",), ("a\nb", "c"), ("a", "b\nc"), ("1:a", "1:b"), ("1:a1:b",), ())
    assert len({derived_id(*parts) for parts in ways}) == len(ways)


@pytest.mark.requirement("P9")
@pytest.mark.parametrize(
    ("reason", "why"),
    [
        (StaleReason.DAILY, "daily reset at 04:00"),
        (StaleReason.IDLE, "90 minutes without a message"),
        (StaleReason.MARKED, "reset by the operator"),
    ],
)
def test_a_reset_is_told_in_one_line_that_names_the_way_back(reason: StaleReason, why: str) -> None:
    line = reset_line(Stale(reason=reason, boundary=0, rule=RULE))
    assert why in line
    assert "/back" in line
    assert "\n" not in line


def test_a_dropped_message_is_quoted_with_the_limit_that_dropped_it() -> None:
    assert "(limit 20): buy milk" in dropped_line(["buy milk"], 20)


def test_a_cleared_message_is_quoted_with_the_reason() -> None:
    assert cleared_line(["buy milk"], "stopped") == "Not answered (stopped): buy milk"


def test_several_messages_are_quoted_below_the_reason() -> None:
    assert (
        cleared_line(["buy milk", "and bread"], "stopped")
        == "Not answered (stopped):\n- buy milk\n- and bread"
    )
