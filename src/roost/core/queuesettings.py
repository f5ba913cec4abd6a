"""What becomes of messages while a session is busy: the modes, their limits, and which setting applies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from roost.core.sessions import Overrides


class QueueMode(StrEnum):
    """`STEER` joins the run under way, `FOLLOWUP` waits for a turn of its own, `COLLECT` shares one later turn,
    `INTERRUPT` ends the run under way and goes next."""

    STEER = "steer"
    FOLLOWUP = "followup"
    COLLECT = "collect"
    INTERRUPT = "interrupt"

    @classmethod
    def parse(cls, text: str) -> "QueueMode | None":
        """The mode a word means, older names included."""
        word = text.strip().lower()
        return _ALIASES.get(word) or (cls(word) if word in cls._value2member_map_ else None)


_ALIASES = MappingProxyType(
    {
        "abort": QueueMode.INTERRUPT,
        "steering": QueueMode.STEER,
        "queue": QueueMode.STEER,
        "steer-backlog": QueueMode.FOLLOWUP,
        "coalesce": QueueMode.COLLECT,
    }
)


class DropPolicy(StrEnum):
    """What gives way in a full queue: the oldest as one line, the oldest, or the arrival."""

    SUMMARIZE = "summarize"
    OLD = "old"
    NEW = "new"

    @classmethod
    def parse(cls, text: str) -> "DropPolicy | None":
        word = text.strip().lower()
        return cls(word) if word in cls._value2member_map_ else None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """`debounce_ms` is the quiet a waiting turn needs, `settle_ms` the one before an idle session starts."""

    mode: QueueMode = QueueMode.STEER
    debounce_ms: int = 500
    settle_ms: int = 0
    cap: int = 20
    drop: DropPolicy = DropPolicy.SUMMARIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePolicy:
    """The configuration: settings for all, and what single channels have instead."""

    base: QueueSettings = field(default_factory=QueueSettings)
    mode_by_channel: Mapping[str, QueueMode] = field(default_factory=dict)
    debounce_by_channel: Mapping[str, int] = field(default_factory=dict)
    settle_by_channel: Mapping[str, int] = field(default_factory=dict)


def resolve(policy: QueuePolicy, overrides: Overrides, channel: str) -> QueueSettings:
    """What a person set on the session, else the channel's, else everyone's. Words nobody knows count for nothing."""
    base = policy.base
    own_mode = QueueMode.parse(overrides.queue_mode or "")
    own_drop = DropPolicy.parse(overrides.queue_drop or "")
    own_debounce, own_cap = overrides.queue_debounce_ms, overrides.queue_cap
    debounce = policy.debounce_by_channel.get(channel, base.debounce_ms)
    return QueueSettings(
        mode=own_mode or policy.mode_by_channel.get(channel, base.mode),
        debounce_ms=debounce if own_debounce is None else own_debounce,
        settle_ms=policy.settle_by_channel.get(channel, base.settle_ms),
        cap=max(1, base.cap if own_cap is None else own_cap),
        drop=own_drop or base.drop,
    )
