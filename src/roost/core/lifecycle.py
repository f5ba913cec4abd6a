"""When a conversation starts afresh: which setting decides, and the first instant at which it is stale.

Only what a person said counts as interaction; nothing here looks at a clock. Local hours are read in the zone
the caller gives.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from enum import StrEnum
from typing import TypeAlias

from roost.core.addresses import ChatType
from roost.core.facts import ConversationType, conversation_type
from roost.core.figures import MINUTE_MS
from roost.core.keys import SessionKey
from roost.core.localtime import next_hour
from roost.core.sessions import Facts

DEFAULT_HOUR = 4


class ResetMode(StrEnum):
    """`DAILY` may carry an idle window too; the first to expire wins."""

    NONE = "none"
    DAILY = "daily"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetSetting:
    """One block of configuration; None is what it leaves open."""

    mode: ResetMode | None = None
    at_hour: int | None = None
    idle_minutes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetPolicy:
    """`idle_minutes` is the older setting: it counts only where neither base nor a type is configured."""

    base: ResetSetting | None = None
    by_type: Mapping[ConversationType, ResetSetting] = field(default_factory=dict)
    by_channel: Mapping[str, ResetSetting] = field(default_factory=dict)
    idle_minutes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetRule:
    """What applies to one session, and the `setting` that decided it. No idle minutes means no idle window."""

    mode: ResetMode
    at_hour: int = DEFAULT_HOUR
    idle_minutes: int = 0
    setting: str = "default"

    @property
    def name(self) -> str:
        """The rule in one phrase, for the row it explains."""
        if self.mode is ResetMode.NONE:
            return f"{self.setting}: none"
        idle = f"idle {self.idle_minutes} min"
        if self.mode is ResetMode.IDLE:
            return f"{self.setting}: {idle}"
        daily = f"{self.setting}: daily at {self.at_hour:02}:00"
        return f"{daily}, {idle}" if self.idle_minutes else daily


class StaleReason(StrEnum):
    """`MARKED`: an operator set the interaction time to 0."""

    DAILY = "daily"
    IDLE = "idle"
    MARKED = "marked"


@dataclass(frozen=True, slots=True)
class Fresh:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """`boundary` is the first instant at which the conversation was stale."""

    reason: StaleReason
    boundary: int
    rule: ResetRule


Freshness: TypeAlias = Fresh | Stale


def reset_type(key: SessionKey, facts: Facts) -> ConversationType:
    """Under which type of conversation the reset of what is said in a chat is configured."""
    if facts.thread is not None:
        return ConversationType.THREAD
    by_key = conversation_type(key)
    if by_key is ConversationType.DIRECT and facts.chat_type in (ChatType.GROUP, ChatType.CHANNEL):
        return ConversationType.GROUP
    return by_key


def rule_for(policy: ResetPolicy, key: SessionKey, chat: Facts) -> ResetRule:
    """The rule for what is said in a session: by the chat it is said in, unless the key itself names a channel."""
    return resolve(policy, reset_type(key, chat), key.channel or chat.channel)


def resolve(policy: ResetPolicy, kind: ConversationType, channel: str | None) -> ResetRule:
    """The rule for a session: its channel's alone, else its type's over the base, else the default."""
    if channel is not None and (own := policy.by_channel.get(channel)):
        return _with_defaults(own, f"session.resetByChannel.{channel}")
    base, by_type = policy.base, policy.by_type.get(kind)
    if by_type:
        return _with_defaults(_inheriting(by_type, base or ResetSetting()), f"session.resetByType.{kind}")
    if base:
        return _with_defaults(base, "session.reset")
    if policy.idle_minutes is not None and not policy.by_type:
        return ResetRule(mode=ResetMode.IDLE, idle_minutes=policy.idle_minutes, setting="session.idleMinutes")
    return ResetRule(mode=ResetMode.DAILY)


def next_reset(rule: ResetRule, last_interaction: int, zone: tzinfo) -> Stale | None:
    """When a conversation last spoken in at that time goes stale, and why; None if it never does.

    A negative time is no time. The answer never moves back when `last_interaction` moves on.
    """
    if last_interaction == 0:
        return Stale(reason=StaleReason.MARKED, boundary=0, rule=rule)
    if last_interaction < 0 or rule.mode is ResetMode.NONE:
        return None
    ends: list[tuple[int, StaleReason]] = []
    if rule.mode is ResetMode.DAILY:
        ends.append((next_hour(last_interaction, rule.at_hour, zone), StaleReason.DAILY))
    if rule.idle_minutes:
        ends.append((last_interaction + rule.idle_minutes * MINUTE_MS + 1, StaleReason.IDLE))
    if not ends:
        return None
    boundary, reason = min(ends, key=lambda end: end[0])
    return Stale(reason=reason, boundary=boundary, rule=rule)


def freshness(rule: ResetRule, last_interaction: int, now: int, zone: tzinfo) -> Freshness:
    """Whether the next thing a person says still belongs to the conversation.

    An interaction in the future (a clock was set back) counts as fresh until it has passed.
    """
    stale = next_reset(rule, last_interaction, zone)
    return stale if stale and stale.boundary <= now else Fresh()


def _inheriting(own: ResetSetting, base: ResetSetting) -> ResetSetting:
    inherited = None if base.mode is ResetMode.NONE else base.mode
    return ResetSetting(
        mode=own.mode or inherited,
        at_hour=base.at_hour if own.at_hour is None else own.at_hour,
        idle_minutes=base.idle_minutes if own.idle_minutes is None else own.idle_minutes,
    )


def _with_defaults(setting: ResetSetting, name: str) -> ResetRule:
    return ResetRule(
        mode=setting.mode or ResetMode.DAILY,
        at_hour=DEFAULT_HOUR if setting.at_hour is None else setting.at_hour,
        idle_minutes=setting.idle_minutes or 0,
        setting=name,
    )
