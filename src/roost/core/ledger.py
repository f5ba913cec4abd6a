"""Append-only facts: what every model call cost, and what was refused and why."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, Usage
from roost.core.principals import Principal
from roost.core.runs import RunKind


class Counted(NamedTuple):
    """What a call used: as its provider counted it, or about that."""

    usage: Usage = Usage()
    estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One model call. Rows outlive their session; `estimated` marks a call that nobody
    counted, or that never settled."""

    id: str
    at: int
    key: SessionKey
    session_id: str
    principal: Principal
    run_id: str
    run_kind: RunKind
    provider: str
    model: str
    usage: Usage
    estimated: bool = False

    def is_of(self, words: AssistantMessage) -> bool:
        """Whether these were said in this call."""
        return (self.at, self.provider, self.model) == (words.at, words.provider, words.model)


def taken_by(words: AssistantMessage, rows: Iterable[LedgerRow]) -> Counted:
    """What the call used in which these words were said; the row of one that its provider did not count is among them."""
    if words.usage != Usage():
        return Counted(words.usage)
    return next((Counted(row.usage, row.estimated) for row in rows if row.is_of(words)), Counted())


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTotal:
    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def plus(self, other: "LedgerTotal") -> "LedgerTotal":
        return LedgerTotal(calls=self.calls + other.calls, usage=self.usage.plus(other.usage))

    def minus(self, other: "LedgerTotal") -> "LedgerTotal":
        """Of which `other` is a part."""
        left = (whole - part for whole, part in zip(self.usage, other.usage, strict=True))
        return LedgerTotal(calls=self.calls - other.calls, usage=Usage(*left))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one model cost one agent on one day; `day` counts those since 1970."""

    day: int
    agent: str
    provider: str
    model: str
    total: LedgerTotal


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentBy:
    """What one session cost."""

    key: SessionKey
    total: LedgerTotal


@dataclass(frozen=True, slots=True, kw_only=True)
class Dearest:
    """The sessions that cost most, the dearest first, and how many there are in all."""

    sessions: tuple[SpentBy, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Something that was not done, and the rule that decided so. One that is `hidden` would tell whoever was refused of
    something that they may not know of: it is the owner's alone."""

    at: int
    operation: str
    principal: Principal
    rule: str
    reason: str
    caller: SessionKey | None = None
    target: str | None = None
    hidden: bool = False
