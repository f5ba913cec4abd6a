"""Whether a session may send: its own override, then the rules, of which a matching deny always wins.

The order of allow and deny rules does not matter. The verdict names what decided.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from roost.core import facts
from roost.core.addresses import Address, ChatType
from roost.core.deliveries import Delivery, DeliveryKind
from roost.core.keys import KeyKind, SessionKey
from roost.core.sessions import SendOverride, Session


class SendAction(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMatch:
    """Every given field must hold. `key_prefix` also fits the key without its `agent:<id>:` head."""

    channel: str | None = None
    chat_type: ChatType | None = None
    key_prefix: str | None = None
    raw_key_prefix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRule:
    action: SendAction
    match: SendMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPolicy:
    default: SendAction = SendAction.ALLOW
    rules: tuple[SendRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    allowed: bool
    rule: str


Judge: TypeAlias = Callable[[Session, Delivery], Verdict]


def anything(session: Session, delivery: Delivery) -> Verdict:
    """The judge where nothing is held back."""
    return Verdict(allowed=True, rule="no session.sendPolicy")


def judge(policy: SendPolicy | None, session: Session, delivery: Delivery) -> Verdict:
    """Whether a message may go out. Who typed a command is always answered: to nobody else would it tell anything."""
    if delivery.kind is DeliveryKind.COMMAND:
        return Verdict(allowed=True, rule="the answer to a command")
    return judge_at(policy, session, delivery.address)


def judge_at(policy: SendPolicy | None, session: Session, to: Address) -> Verdict:
    """Whether anything may be said there. What kind of chat that is, the place says itself, or else the session: it may
    have been opened in another."""
    return decide(
        policy,
        session.key,
        override=session.overrides.send_policy,
        channel=to.channel,
        chat_type=to.chat_type or session.facts.chat_type,
    )


_PEER_WORDS = frozenset({"direct", "dm", "group", "channel"})


def decide(
    policy: SendPolicy | None,
    key: SessionKey,
    *,
    override: SendOverride | None = None,
    channel: str | None = None,
    chat_type: ChatType | None = None,
) -> Verdict:
    """`channel` and `chat_type` are the call's or else the session's; what neither knows is read from the key.

    A rule about a chat type or channel that nobody knows does not match.
    """
    if override is not None:
        return Verdict(allowed=override is SendOverride.ALLOW, rule="the session's sendPolicy")
    if policy is None:
        return Verdict(allowed=True, rule="no session.sendPolicy")
    chat_type = chat_type or facts.chat_type(key)
    if _ambiguous(key, chat_type):
        return Verdict(allowed=False, rule="a key that could mean two chats")
    channel = channel or key.channel
    allowing = None
    for number, rule in enumerate(policy.rules):
        if not _matches(rule.match, key, channel, chat_type):
            continue
        name = f"session.sendPolicy.rules[{number}]"
        if rule.action is SendAction.DENY:
            return Verdict(allowed=False, rule=name)
        allowing = allowing or name
    if allowing:
        return Verdict(allowed=True, rule=allowing)
    return Verdict(allowed=policy.default is SendAction.ALLOW, rule="session.sendPolicy.default")


def _ambiguous(key: SessionKey, chat_type: ChatType | None) -> bool:
    """A key without a chat, or a named one that reads like a chat nobody vouches for."""
    if key.kind is KeyKind.UNKNOWN:
        return True
    looks_like_a_chat = key.kind is KeyKind.NAMED and not _PEER_WORDS.isdisjoint(key.name.lower().split(":"))
    return looks_like_a_chat and chat_type is None


def _matches(match: SendMatch, key: SessionKey, channel: str | None, chat_type: ChatType | None) -> bool:
    if match.channel is not None and (channel is None or match.channel.lower() != channel.lower()):
        return False
    if match.chat_type is not None and match.chat_type is not chat_type:
        return False
    raw = str(key).lower()
    if match.raw_key_prefix is not None and not raw.startswith(match.raw_key_prefix.lower()):
        return False
    if match.key_prefix is None:
        return True
    bare = raw.removeprefix(f"agent:{key.agent}:")
    return raw.startswith(match.key_prefix.lower()) or bare.startswith(match.key_prefix.lower())
