from pathlib import Path

import pytest
from pydantic import ValidationError

from roost.config.automation import Hooks
from roost.config.hooks import hook_rules
from roost.config.secretfields import Surroundings
from roost.core.hooks import Action, HookMapping, HookRules, Scheme
from roost.core.jobs import Wake

AROUND = Surroundings(environ={}, resolve=Path)


def rules(**given: object) -> HookRules:
    return hook_rules(Hooks.model_validate(given, context=AROUND))


def test_without_being_enabled_there_are_no_hooks() -> None:
    assert rules() == HookRules()
    assert rules(token="hook-token-1").token is None


def test_what_is_configured_holds() -> None:
    found = rules(
        enabled=True,
        token="hook-token-1",
        path="/in",
        allowedAgentIds=["helper"],
        defaultSessionKey="inbox",
        allowRequestSessionKey=True,
        allowedSessionKeyPrefixes=["hook:"],
        maxBodyBytes="1kb",
        maxPerMinute=5,
        mappings={
            "ci": {
                "message": "{{repository.name}} broke",
                "action": "wake",
                "agentId": "helper",
                "sessionKey": "hook:{{repository.name}}",
                "secret": "signing-secret",
                "signature": "timestamp",
                "wakeMode": "next-heartbeat",
            }
        },
    )
    assert found.token is not None
    assert found.token.matches("hook-token-1")
    assert (found.path, found.agents, found.default_key) == ("/in", ("helper",), "inbox")
    assert (found.names_sessions, found.prefixes) == (True, ("hook:",))
    assert (found.most_bytes, found.per_minute) == (1024, 5)
    mapping = found.mappings["ci"]
    assert (mapping.action, mapping.scheme, mapping.wake) == (Action.WAKE, Scheme.TIMESTAMP, Wake.NEXT)
    assert mapping.secret is not None
    assert mapping.secret.matches("signing-secret")
    assert isinstance(mapping, HookMapping)


@pytest.mark.parametrize(
    "wrong",
    [
        {"enabled": True},
        {"mappings": {"wake": {"message": "x"}}},
        {"mappings": {"ci": {"message": "{{__class__.x y}}"}}},
        {"mappings": {"ci": {"message": "x", "sessionKey": "{{a b}}"}}},
        {"mappings": {"ci": {"message": "x", "secret": ""}}},
        {"maxPerMinute": 0},
    ],
)
@pytest.mark.requirement("S21")
def test_what_is_empty_or_malformed_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        rules(**wrong)
