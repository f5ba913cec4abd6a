"""What an audit says. Each finding has an id that stays, says what could happen, names the setting and what to put there."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    CRITICAL = "critical"
    WARN = "warn"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`setting` is the key or the file it is about; `fix` what to do there."""

    id: str
    severity: Severity
    text: str
    setting: str
    fix: str


_RANK = tuple(Severity)


def in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first."""
    return tuple(sorted(found, key=lambda one: (_RANK.index(one.severity), one.id, one.setting)))
