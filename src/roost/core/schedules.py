"""When something is due: once, every so often, or by the local clock of a place.

A cron expression has five fields, or six with seconds first, or is a word such as `@daily`. One that names fixed hours and
minutes is due once a day whatever the clocks do: a time they skip is due where they land, one they repeat the first
time. One whose hour or minute begins with `*` is due whenever the clock on the wall shows it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from types import MappingProxyType
from typing import TypeAlias, assert_never

from cronsim import CronSim, CronSimError

from roost.core.errors import InvalidInput
from roost.core.localtime import changed, instant, wall

SHORTEST_MS = 1_000
LONGEST_MS = 400 * 86_400_000
LONGEST_EXPRESSION = 200
HINT = "give five fields (minute hour day month weekday), six with seconds first, or a word such as @daily"

_SECOND = timedelta(seconds=1)
_WORDS = MappingProxyType(
    {
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
        "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    }
)
# Any moment does: it is read for its mistakes only.
_SOME_DAY = datetime(2024, 1, 1)  # noqa: DTZ001 — an hour on the wall, of no place


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """Once, at an instant."""

    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """At `anchor` and every `every_ms` from it on."""

    every_ms: int
    anchor: int

    def __post_init__(self) -> None:
        if not SHORTEST_MS <= self.every_ms <= LONGEST_MS:
            raise InvalidInput(
                f"every {self.every_ms} ms is no schedule",
                hint=f"give between {SHORTEST_MS} ms and {LONGEST_MS // 86_400_000} days",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """By the clock of a `zone`; None is the gateway's own."""

    expression: str
    zone: str | None = None

    def __post_init__(self) -> None:
        if len(self.expression) > LONGEST_EXPRESSION:
            raise InvalidInput("that cron expression is too long", hint=HINT)
        try:
            CronSim(self.fields, _SOME_DAY)
        except CronSimError as error:
            raise InvalidInput(f"{self.expression!r} is no cron expression: {error}", hint=HINT) from None

    @property
    def fields(self) -> str:
        """The expression in fields, where it is a word."""
        return _WORDS.get(self.expression.strip().lower(), self.expression)

    @property
    def fixed(self) -> bool:
        """Whether it names hours and minutes."""
        minute, hour = self.fields.split()[-5:-3]
        return not minute.startswith("*") and not hour.startswith("*")


Schedule: TypeAlias = At | Every | Cron
Zones: TypeAlias = Callable[[str | None], tzinfo]
"""The clock of a place by its name; of the gateway's own for None."""


def next_due(schedule: Schedule, after: int, zones: Zones) -> int | None:
    """The first instant later than `after` at which it is due; None: never again."""
    match schedule:
        case At(at=at):
            return at if at > after else None
        case Every(every_ms=every, anchor=anchor):
            return anchor if anchor > after else anchor + ((after - anchor) // every + 1) * every
        case Cron():
            zone = zones(schedule.zone)
            return _fixed(schedule, after, zone) if schedule.fixed else _shown(schedule, after, zone)
        case _:
            assert_never(schedule)


def _fixed(cron: Cron, after: int, zone: tzinfo) -> int | None:
    for candidate in CronSim(cron.fields, wall(after, zone)):
        # Clocks that went back show times again that are over.
        if (due := instant(candidate, zone)) > after:
            return due
    return None


def _shown(cron: Cron, after: int, zone: tzinfo) -> int | None:
    """Between two changes of the clocks the wall runs with time; behind a change it is looked at anew."""
    start, shown = after, wall(after, zone)
    while (candidate := next(CronSim(cron.fields, shown), None)) is not None:
        due = start + (candidate - wall(start, zone)) // timedelta(milliseconds=1)
        if (change := changed(start, due, zone)) is None:
            return due
        start, shown = change, wall(change, zone) - _SECOND
    return None
