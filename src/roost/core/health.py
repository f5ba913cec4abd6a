"""How the parts of a gateway are doing, as told to its operator."""

from dataclasses import dataclass
from enum import StrEnum

STEADY_MS = 30_000
"""A part that has worked this long since its last failure is well again."""


class Condition(StrEnum):
    OK = "ok"
    RETRYING = "retrying"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartHealth:
    """`since` is when it came into its condition; `error` is its last failure, also once it is well again."""

    name: str
    condition: Condition
    since: int
    failures: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    parts: tuple[PartHealth, ...]

    @property
    def ok(self) -> bool:
        return not self.failing

    @property
    def failing(self) -> tuple[str, ...]:
        """The parts that are not well, by name."""
        return tuple(part.name for part in self.parts if part.condition is not Condition.OK)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRecord:
    """What is remembered of a part: when it began to work (None while it waits to begin again), and since when and
    how often in a row it failed."""

    began: int | None
    failing_since: int
    failures: int = 0
    error: str | None = None


def begun(record: PartRecord | None, now: int) -> PartRecord:
    """The part begins, or begins again."""
    if record is None:
        return PartRecord(began=now, failing_since=now)
    return PartRecord(
        began=now, failing_since=record.failing_since, failures=record.failures, error=record.error
    )


def failed(record: PartRecord, error: str, now: int) -> PartRecord:
    """The part failed; what lies before a steady time no longer counts."""
    steady = not record.failures or _steady(record, now)
    return PartRecord(
        began=None,
        failing_since=now if steady else record.failing_since,
        failures=1 if steady else record.failures + 1,
        error=error,
    )


def part_health(name: str, record: PartRecord, now: int) -> PartHealth:
    if record.began is not None and (not record.failures or _steady(record, now)):
        return PartHealth(name=name, condition=Condition.OK, since=record.began, error=record.error)
    return PartHealth(
        name=name,
        condition=Condition.RETRYING,
        since=record.failing_since,
        failures=record.failures,
        error=record.error,
    )


def _steady(record: PartRecord, now: int) -> bool:
    return record.began is not None and now - record.began >= STEADY_MS
