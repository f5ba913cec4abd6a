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
        ("sessions.send", {"key": "main", "idempotencyKey": None}, False),
        ("node.invoke", {"idempotencyKey": "k"}, False),
        ("sessions.reset", {"key": "main"}, False),
        ("sessions.patch", {"key": "main"}, False),
        ("nobody.knows", {}, False),
    ],
)
def test_only_what_does_no_harm_twice_is_asked_twice(method: str, params: JsonObject, *, again: bool) -> None:
    assert repeatable(method, params) is again


def test_subscriptions_are_kept_until_they_are_taken_back() -> None:
    kept = Subscriptions()
    kept.note("sessions.subscribe", {}, {"subscribed": True})
    kept.note("sessions.messages.subscribe", {"key": "a"}, {"key": "agent:main:a"})
    kept.note("sessions.messages.subscribe", {"key": "b"}, {"key": "agent:main:b"})
    kept.note("sessions.messages.unsubscribe", {"key": "a"}, {"key": "agent:main:a"})
    kept.note("health", {}, {"ok": True})
    assert kept.requests() == (("sessions.subscribe", {}), ("sessions.messages.subscribe", {"key": "b"}))


def test_a_session_that_is_called_otherwise_is_the_same_and_one_of_another_agent_is_not() -> None:
    kept, listen = Subscriptions(), "sessions.messages.subscribe"
    kept.note(listen, {"key": "a"}, {"key": "agent:main:a"})
    kept.note(listen, {"key": "a", "agentId": "other"}, {"key": "agent:other:a"})
    assert [params for _, params in kept.requests()] == [{"key": "a"}, {"key": "a", "agentId": "other"}]
    kept.note("sessions.messages.unsubscribe", {"key": "agent:main:a"}, {"key": "agent:main:a"})
    assert kept.requests() == ((listen, {"key": "a", "agentId": "other"}),)
