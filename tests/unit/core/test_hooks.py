import hmac
from dataclasses import replace
from hashlib import sha256

import pytest

from roost.core.errors import Forbidden, InvalidInput
from roost.core.hooks import (
    SKEW_MS,
    Call,
    HookMapping,
    HookRules,
    Named,
    Proof,
    Replayed,
    Scheme,
    Signed,
    Unproven,
    agent_of,
    mapped_key,
    prove,
    refuse_deep,
    refuse_replay,
    session_of,
    source_of,
    words,
)
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.core.secrets import Secret
from roost.testing.clock import NOON

TOKEN, SIGNING = "hook-token-1", "signing-secret"
RULES = HookRules(
    token=Secret(TOKEN),
    mappings={
        "gh": HookMapping(message="x", secret=Secret(SIGNING)),
        "ts": HookMapping(message="x", secret=Secret(SIGNING), scheme=Scheme.TIMESTAMP),
        "plain": HookMapping(message="x"),
    },
)
BODY = b'{"a":1}'


def call(name: str = "agent", **headers: str) -> Call:
    return Call(
        name=name, headers={key.replace("_", "-"): text for key, text in headers.items()}, body=BODY, at=NOON
    )


def signature(signed: bytes, secret: str = SIGNING) -> str:
    return "sha256=" + hmac.new(secret.encode(), signed, sha256).hexdigest()


@pytest.mark.parametrize(
    "headers",
    [{"authorization": f"Bearer {TOKEN}"}, {"x_openclaw_token": TOKEN}, {"x_roost_token": f" {TOKEN} "}],
)
def test_the_hooks_own_token_proves_a_call(headers: dict[str, str]) -> None:
    assert prove(call(**headers), RULES) == Named(delivery=None)
    assert prove(call("plain", **headers), RULES) == Named(delivery=None)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer "},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"x_openclaw_token": ""},
        {"x_roost_token": TOKEN[:-1]},
    ],
)
@pytest.mark.requirement("S21")
def test_a_missing_empty_or_wrong_token_proves_nothing(headers: dict[str, str]) -> None:
    with pytest.raises(Unproven, match="token"):
        prove(call(**headers), RULES)
    with pytest.raises(Unproven):
        prove(call(authorization=f"Bearer {TOKEN}"), HookRules())


@pytest.mark.parametrize("header", ["idempotency_key", "x_github_delivery", "x_delivery_id"])
def test_a_delivery_is_known_by_the_name_it_comes_with(header: str) -> None:
    assert prove(call(authorization=f"Bearer {TOKEN}", **{header: "d1"}), RULES) == Named(delivery="d1")
    assert prove(call(authorization=f"Bearer {TOKEN}", **{header: " "}), RULES) == Named(delivery=None)
    with pytest.raises(InvalidInput, match="at most"):
        prove(call(authorization=f"Bearer {TOKEN}", **{header: "d" * 201}), RULES)


def seen_again(first: Proof, again: Proof) -> bool:
    """Whether the second is answered like the first; raises for a replay."""
    known, found = source_of("x", first), source_of("x", again)
    if found.external_id is None or known.external_id != found.external_id:
        return False
    refuse_replay(again, known)
    return True


@pytest.mark.requirement("S18")
def test_a_call_under_the_token_is_the_same_whenever_its_delivery_is() -> None:
    one, other, nameless = Named(delivery="1"), Named(delivery="2"), Named(delivery=None)
    assert seen_again(one, one)
    assert not seen_again(one, other)
    assert not seen_again(nameless, nameless)


@pytest.mark.requirement("S18")
def test_a_signature_that_comes_again_is_the_same_delivery_or_a_replay() -> None:
    signed = signature(BODY)

    def under(**delivery: str) -> Proof:
        return prove(call("gh", x_hub_signature_256=signed, **delivery), RULES)

    one, other, nameless = under(x_github_delivery="1"), under(x_github_delivery="2"), under()
    assert one == Signed(signature=signed, delivery="1")
    assert seen_again(one, one)
    for first, again in ((one, other), (one, nameless), (nameless, one), (nameless, nameless)):
        with pytest.raises(Replayed, match="used before"):
            seen_again(first, again)


@pytest.mark.requirement("S18")
def test_a_delivery_whose_name_is_signed_may_be_signed_anew() -> None:
    def under(late: int, delivery: str, shown: str | None = None) -> Proof:
        stamp = str(NOON // 1000 - late)
        signed = signature(f"{stamp}.{delivery}.".encode() + BODY)
        return prove(
            call("ts", x_signature=signed, x_timestamp=stamp, x_delivery_id=shown or delivery), RULES
        )

    assert under(9, "d1") == under(0, "d1") == Named(delivery="d1")
    with pytest.raises(Unproven, match="wrong"):
        under(0, "d1", shown="d2")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x_hub_signature_256": ""},
        {"x_hub_signature_256": signature(BODY, "other")},
        {"x_hub_signature_256": signature(b"{}")},
        {"x_hub_signature_256": signature(BODY).removeprefix("sha256=")},
        {"authorization": f"Bearer {TOKEN}"},
    ],
)
def test_a_signature_that_is_not_right_proves_nothing(headers: dict[str, str]) -> None:
    with pytest.raises(Unproven, match="signature"):
        prove(call("gh", **headers), RULES)


@pytest.mark.requirement("S18")
@pytest.mark.parametrize("late", [-SKEW_MS, 0, SKEW_MS])
def test_a_signature_with_its_time_holds_for_a_while(late: int) -> None:
    stamp = str((NOON + late) // 1000)
    signed = signature(f"{stamp}.".encode() + BODY)
    assert prove(call("ts", x_signature=signed, x_timestamp=stamp), RULES) == Signed(
        signature=signed, delivery=None
    )
    replayed = replace(call("ts", x_signature=signed, x_timestamp=stamp), at=NOON + late + SKEW_MS + 1_000)
    with pytest.raises(Unproven, match="too old"):
        prove(replayed, RULES)
    with pytest.raises(Unproven, match="wrong"):
        prove(call("ts", x_signature=signed, x_timestamp=str(int(stamp) + 1)), RULES) if late <= 0 else prove(
            call("ts", x_signature=signed, x_timestamp=str(int(stamp) - 1)), RULES
        )


@pytest.mark.requirement("S18")
@pytest.mark.parametrize(
    "stamp", ["", "soon", "-1", "1e9", "9" * 20, str(NOON // 1000 - 301), str(NOON // 1000 + 301)]
)
def test_a_stale_or_missing_time_is_refused(stamp: str) -> None:
    signed = signature(f"{stamp}.".encode() + BODY)
    with pytest.raises(Unproven):
        prove(call("ts", x_signature=signed, x_timestamp=stamp), RULES)


def nested(depth: int) -> JsonValue:
    value: JsonValue = 1
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return value


def test_a_payload_may_be_nested_so_deep_and_no_deeper() -> None:
    refuse_deep(nested(32))
    with pytest.raises(InvalidInput, match="deeper"):
        refuse_deep(nested(33))


PREFIXED = HookRules(token=Secret(TOKEN), names_sessions=True, prefixes=("hook:",))


@pytest.mark.requirement("D04")
def test_a_hook_has_a_session_of_its_own_unless_one_is_set() -> None:
    assert str(session_of(RULES, "main", "u1", asked=None, mapped=None)) == "agent:main:hook:u1"
    fixed = HookRules(default_key="inbox")
    assert session_of(fixed, "main", "u1", asked=None, mapped=None) == SessionKey.named("main", "inbox")


@pytest.mark.requirement("S11")
@pytest.mark.parametrize(
    "key", ["main", "agent:main:main", "agent:helper:main", "telegram:direct:7", "cron:j", "hook:", ""]
)
def test_a_session_that_is_spelt_must_lie_under_a_prefix(key: str) -> None:
    with pytest.raises((InvalidInput, Forbidden)):
        session_of(PREFIXED, "main", "u1", asked=key, mapped=None)
    with pytest.raises(InvalidInput):
        session_of(PREFIXED, "main", "u1", asked=None, mapped=key)
    assert (
        str(session_of(PREFIXED, "main", "u1", asked="agent:other:hook:x", mapped=None))
        == "agent:main:hook:x"
    )
    with pytest.raises(Forbidden, match="allowRequestSessionKey"):
        session_of(RULES, "main", "u1", asked="hook:x", mapped=None)


@pytest.mark.requirement("S11")
def test_a_mapping_names_its_session_outright_or_through_the_payload() -> None:
    def of(key: str | None) -> object:
        return mapped_key(HookMapping(message="x", session_key=key), "main", {"name": "main"})

    assert of(None) == (None, None)
    assert of("garden") == (None, SessionKey.named("main", "garden"))
    assert of("{{name}}") == ("main", None)
    assert of("hook:{{name}}") == ("hook:main", None)


def test_a_request_may_name_the_agents_that_are_listed() -> None:
    known = ("main", "helper", "other")
    assert agent_of(RULES, None, known, "main") == "main"
    assert agent_of(RULES, "main", known, "main") == "main"
    assert agent_of(HookRules(agents=("helper",)), "helper", known, "main") == "helper"
    assert agent_of(HookRules(agents=("*",)), "other", known, "main") == "other"
    for rules, name in (
        (RULES, "helper"),
        (HookRules(agents=("helper",)), "other"),
        (HookRules(agents=("*",)), "x"),
    ):
        with pytest.raises(Forbidden, match="allowedAgentIds"):
            agent_of(rules, name, known, "main")


@pytest.mark.parametrize("payload", [{}, {"m": ""}, {"m": " "}, {"m": 5}, {"m": "x" * 32_001}])
def test_words_must_be_there(payload: dict[str, JsonValue]) -> None:
    with pytest.raises(InvalidInput, match="m "):
        words(payload, "m")
    assert words({"m": "x"}, "m") == "x"


def test_only_a_mapping_with_a_secret_is_proven_by_what_it_signs() -> None:
    rules = HookRules(
        mappings={
            "gh": HookMapping(message="x", secret=Secret(SIGNING)),
            "plain": HookMapping(message="x"),
        }
    )
    assert [rules.signed(name) for name in ("gh", "plain", "agent")] == [True, False, False]
