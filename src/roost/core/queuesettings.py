"""What becomes of messages while a session is busy: the modes, their limits, which setting applies, and `/queue` as it is
written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from roost.core.errors import InvalidInput
from roost.core.figures import read_duration
from roost.core.sessions import Overrides

Change: TypeAlias = Callable[[Overrides], Overrides]

_HINT = "say a mode, default, debounce:<time>, cap:<number> or drop:<policy>"


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


def read_queue(text: str) -> Change:
    """The change a person asks for. Raises `InvalidInput` with what may be said."""
    changes = [_change(word) for word in text.split()]

    def change(overrides: Overrides) -> Overrides:
        for one in changes:
            overrides = one(overrides)
        return overrides

    return change


def _change(word: str) -> Change:
    option, colon, value = word.lower().partition(":")
    if colon:
        return _option(option, value)
    if option in ("default", "reset"):
        return lambda own: replace(
            own, queue_mode=None, queue_debounce_ms=None, queue_cap=None, queue_drop=None
        )
    mode = QueueMode.parse(option)
    if mode is None:
        raise InvalidInput(f"{word!r} is no queue mode", hint=f"modes are {', '.join(QueueMode)}; {_HINT}")
    return lambda own: replace(own, queue_mode=mode)


def _option(option: str, value: str) -> Change:
    match option:
        case "debounce":
            wait = read_duration(value, bare="ms")
            if wait is None:
                raise InvalidInput(f"{value!r} is no time", hint="write it as 500ms or 2s")
            return lambda own: replace(own, queue_debounce_ms=wait)
        case "cap":
            if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 1000:
                raise InvalidInput(f"{value!r} is no cap", hint="say a number from 1 to 1000")
            return lambda own: replace(own, queue_cap=int(value))
        case "drop":
            policy = DropPolicy.parse(value)
            if policy is None:
                raise InvalidInput(f"{value!r} drops nothing", hint=f"say {', '.join(DropPolicy)}")
            return lambda own: replace(own, queue_drop=policy)
        case _:
            raise InvalidInput(f"a queue has no {option!r}", hint=_HINT)
