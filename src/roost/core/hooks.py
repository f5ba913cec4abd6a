"""Webhooks: who may call, which session a call is for, and what is said there.

A call is told apart from another by its delivery's name; of a signed one the signature is the name, unless the delivery's
was signed with it. Empty, missing or malformed means refused.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import TypeAlias, assert_never

from roost.core import templates
from roost.core.errors import Forbidden, InvalidInput, RoostError
from roost.core.inbound import Source
from roost.core.jobs import LONGEST_TEXT, Wake
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.secrets import Secret
from roost.core.sources import hook_key, named_key

CHANNEL = "hook"
SKEW_MS = 300_000
DEEPEST = 32
LONGEST_NAME = 200
ANY = "*"
DELIVERY = ("idempotency-key", "x-github-delivery", "x-delivery-id")
TOKENS = ("x-openclaw-token", "x-roost-token")
GITHUB, SIGNATURE, TIMESTAMP = "x-hub-signature-256", "x-signature", "x-timestamp"
PREFIX = "sha256="


class Action(StrEnum):
    """What a call does: an event for a session's next turn, or a turn of its own."""

    WAKE = "wake"
    AGENT = "agent"


class Scheme(StrEnum):
    """How a body is signed: as GitHub does, or together with the time at which it was."""

    GITHUB = "github"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookMapping:
    """A call under a name of its own. With a `secret` its signature proves it, in place of the token."""

    action: Action = Action.AGENT
    message: str
    agent: str | None = None
    session_key: str | None = None
    deliver: bool = False
    model: str | None = None
    wake: Wake = Wake.NOW
    secret: Secret | None = None
    scheme: Scheme = Scheme.GITHUB


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRules:
    """Without a token there are no hooks."""

    token: Secret | None = None
    path: str = "/hooks"
    agents: tuple[str, ...] | None = None
    default_key: str | None = None
    names_sessions: bool = False
    prefixes: tuple[str, ...] = ()
    mappings: Mapping[str, HookMapping] = field(default_factory=dict)
    most_bytes: int = 262_144
    per_minute: int = 120

    def signed(self, name: str) -> bool:
        """Whether calls under a name are proven by what they sign, and not by their headers alone."""
        mapping = self.mappings.get(name)
        return mapping is not None and mapping.secret is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call as it came; header names are in lower case."""

    name: str
    headers: Mapping[str, str]
    body: bytes
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a call asks for, after all names were resolved. With `waits` it is answered
    when its turn has ended."""

    action: Action
    key: SessionKey
    text: str
    tool: str
    wake: Wake = Wake.NOW
    deliver: bool = False
    model: str | None = None
    thinking: str | None = None
    timeout_ms: int | None = None
    waits: bool = False


class Unproven(Forbidden):
    """The call does not show what it has to."""

    code = "unauthorized"


class Replayed(RoostError):
    """What the call shows was shown before; nothing was done again."""

    code = "replayed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A call that is proven together with the name of its delivery: under that name it is always the same one. None: it is
    like no other."""

    delivery: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A call of which no more is proven than its signature covers. Who recorded it can send it again under any name."""

    signature: str
    delivery: str | None

    @property
    def whole(self) -> str | None:
        """What a redelivery shows again."""
        return None if self.delivery is None else f"{self.signature} {self.delivery}"


Proof: TypeAlias = Named | Signed


def prove(call: Call, rules: HookRules) -> Proof:
    """What the call is known by, if who called may; raises `Unproven`."""
    mapping = rules.mappings.get(call.name)
    if mapping is not None and mapping.secret is not None:
        return _signed(call, mapping.secret, mapping.scheme)
    shown = _token(call.headers)
    if rules.token is None or not shown or not rules.token.matches(shown):
        raise Unproven("the hooks' own token is missing or wrong", hint="send it as `Authorization: Bearer`")
    return Named(delivery=_delivery(call.headers))


def source_of(name: str, proof: Proof) -> Source:
    """What makes a call of this hook the same when it comes again."""
    match proof:
        case Named():
            return Source(channel=CHANNEL, account=name, external_id=proof.delivery)
        case Signed():
            return Source(
                channel=CHANNEL, account=name, external_id=proof.signature, idempotency_key=proof.whole
            )
        case _:
            assert_never(proof)


def refuse_replay(proof: Proof, first: Source) -> None:
    """Raises for a call that came before, unless it is the same delivery."""
    if isinstance(proof, Signed) and (proof.whole is None or proof.whole != first.idempotency_key):
        raise Replayed(
            "this signature was used before; what it asked for was taken then",
            hint="sign each call anew, or name its delivery when it is sent again",
        )


def _token(headers: Mapping[str, str]) -> str:
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return bearer.strip()
    return next((headers[one] for one in TOKENS if one in headers), "").strip()


def _delivery(headers: Mapping[str, str]) -> str | None:
    named = next((headers[one] for one in DELIVERY if headers.get(one, "").strip()), None)
    if named is not None and len(named) > LONGEST_NAME:
        raise InvalidInput(f"a delivery's name has at most {LONGEST_NAME} characters")
    return named


def _signed(call: Call, secret: Secret, scheme: Scheme) -> Proof:
    delivery = _delivery(call.headers)
    match scheme:
        case Scheme.GITHUB:
            shown = call.headers.get(GITHUB, "")
            signed = [call.body]
        case Scheme.TIMESTAMP:
            shown = call.headers.get(SIGNATURE, "")
            stamp = _stamp(call)
            signed = [stamp + call.body]
            if delivery is not None:
                signed.append(stamp + delivery.encode("utf-8", "surrogatepass") + b"." + call.body)
        case _:
            assert_never(scheme)
    for number, text in enumerate(signed):
        right = PREFIX + hmac.new(secret.reveal().encode(), text, sha256).hexdigest()
        if hmac.compare_digest(right.encode(), shown.encode("utf-8", "surrogatepass")):
            return Named(delivery=delivery) if number else Signed(signature=right, delivery=delivery)
    raise Unproven("the signature is missing or wrong", hint="sign the body with this hook's secret")


def _stamp(call: Call) -> bytes:
    """The time of signing as it is signed; raises unless it is about now."""
    stamp = call.headers.get(TIMESTAMP, "")
    if not stamp.isascii() or not stamp.isdecimal() or len(stamp) > len("10000000000000"):
        raise Unproven(f"the time of signing is missing in {TIMESTAMP}", hint="send it in UTC seconds")
    if abs(call.at - int(stamp) * 1_000) > SKEW_MS:
        raise Unproven("the signature is too old", hint="sign it anew; look at the clock")
    return f"{stamp}.".encode()


def refuse_deep(value: JsonValue, deepest: int = DEEPEST) -> None:
    """Raises for a payload that is nested deeper than anybody means."""
    level: list[JsonValue] = [value]
    for _ in range(deepest + 1):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]
        if not level:
            return
    raise InvalidInput(f"the payload is nested deeper than {deepest}", hint="send a flatter one")


def session_of(
    rules: HookRules, agent: str, uuid: str, *, asked: str | None, mapped: str | None
) -> SessionKey:
    """The session of a call: what a request or a template spells is held to the prefixes; what the configuration says
    outright is not."""
    if asked is not None:
        if not rules.names_sessions:
            raise Forbidden("a request may not name its session", hint="see hooks.allowRequestSessionKey")
        return hook_key(agent, uuid, asked, rules.prefixes)
    if mapped is not None:
        return hook_key(agent, uuid, mapped, rules.prefixes)
    return hook_key(agent, uuid) if rules.default_key is None else named_key(agent, rules.default_key)


def agent_of(rules: HookRules, asked: str | None, known: tuple[str, ...], default: str) -> str:
    """The agent a request names, if it may."""
    if asked is None or asked == default:
        return default
    allowed = rules.agents or ()
    if asked not in known or (ANY not in allowed and asked not in allowed):
        raise Forbidden(f"a hook may not use the agent {asked!r}", hint="see hooks.allowedAgentIds")
    return asked


def words(payload: JsonObject, name: str) -> str:
    """A text that must be in a payload."""
    text = payload.get(name)
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"{name} required")
    if len(text) > LONGEST_TEXT:
        raise InvalidInput(f"{name} has at most {LONGEST_TEXT} characters")
    return text


def mapped_key(mapping: HookMapping, agent: str, payload: JsonValue) -> tuple[str | None, SessionKey | None]:
    """The session a mapping names: as a text that the payload had a part in, or as the one it says outright."""
    if mapping.session_key is None:
        return None, None
    if templates.has_places(mapping.session_key):
        return templates.filled(mapping.session_key, payload, LONGEST_NAME), None
    return None, named_key(agent, mapping.session_key)
