"""What is asked again on a new connection."""

import pytest

from roost.client.resuming import Subscriptions, repeatable
from roost.core.jsonvalue import JsonObject


@pytest.mark.parametrize(
    ("method", "params", "again"),
    [
        ("health", {}, True),
        ("sessions.list", {"limit": 1}, True),
        ("agent.wait", {"runId": "r"}, True),
        ("chat.send", {"idempotencyKey": "k"}, True),
        ("sessions.reset", {"key": "main"}, False),
        ("sessions.patch", {"key": "main"}, False),
        ("nobody.knows", {}, False),
    ],
)
def test_only_what_does_no_harm_twice_is_asked_twice(method: str, params: JsonObject, *, again: bool) -> None:
    assert repeatable(method, params) is again


def test_subscriptions_are_kept_until_they_are_taken_back() -> None:
    kept = Subscriptions()
    kept.note("sessions.subscribe", {})
    kept.note("sessions.messages.subscribe", {"key": "a"})
    kept.note("sessions.messages.subscribe", {"key": "b"})
    kept.note("sessions.messages.unsubscribe", {"key": "a"})
    kept.note("health", {})
    assert kept.requests() == (("sessions.subscribe", {}), ("sessions.messages.subscribe", {"key": "b"}))
