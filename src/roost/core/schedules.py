"""When something is due: once, every so often, or by the local clock of a place; and how people write that.

A cron expression has five fields, or six with seconds first, or is a word such as `@daily`. One that names fixed hours and
minutes is due once a day whatever the clocks do: a time they skip is due where they land, one they repeat the first
time. One whose hour or minute begins with `*` is due whenever the clock on the wall shows it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType
from typing import TypeAlias, assert_never

from cronsim import CronSim, CronSimError

from roost.core.errors import InvalidInput
from roost.core.figures import UNITS
from roost.core.localtime import LAST_MOMENT, changed, instant, local, millis, wall

SHORTEST_MS = 1_000
LONGEST_MS = 400 * 86_400_000
LONGEST_EXPRESSION = 200
HINT = "give five fields (minute hour day month weekday), six with seconds first, or a word such as @daily"

_SPAN = re.compile(r"(\d{1,9})\s*(ms|s|m|h|d)", re.ASCII)
_MILLIS = re.compile(r"\d{10,16}", re.ASCII)
_ONE = "give one of: at (a moment or a span from now), every (a span), cron (an expression, with tz)"
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
            return _fixed(schedule, after, zone) if schedule.fixed else _by_wall(schedule, after, zone)
        case _:
            assert_never(schedule)


def _fixed(cron: Cron, after: int, zone: tzinfo) -> int | None:
    for candidate in CronSim(cron.fields, wall(after, zone)):
        # Clocks that went back show times again that are over.
        if (due := instant(candidate, zone)) > after:
            return due
    return None


def _by_wall(cron: Cron, after: int, zone: tzinfo) -> int | None:
    """Between two changes of the clocks the wall runs with time; behind a change it is looked at anew."""
    start, shown = after, wall(after, zone)
    while (candidate := next(CronSim(cron.fields, shown), None)) is not None:
        due = start + (candidate - wall(start, zone)) // timedelta(milliseconds=1)
        if (change := changed(start, due, zone)) is None:
            return due
        start, shown = change, wall(change, zone) - _SECOND
    return None


def read_span(text: str) -> int:
    """`90s`, `30m`, `2h` or `1d`, in milliseconds."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise InvalidInput(f"{text!r} is no span of time", hint="write 90s, 30m, 2h or 1d")
    return int(found[1]) * UNITS[found[2]]


def read_moment(text: str, now: int) -> int:
    """An ISO time (in UTC unless it says otherwise), UTC milliseconds, or a span from now."""
    moment = _moment(text, now)
    if moment > LAST_MOMENT:
        raise InvalidInput(
            f"{text!r} is later than any clock shows", hint="give a moment before the year 9999"
        )
    return moment


def _moment(text: str, now: int) -> int:
    word = text.strip()
    if _SPAN.fullmatch(word.lower()):
        return now + read_span(word)
    if _MILLIS.fullmatch(word):
        return int(word)
    try:
        moment = datetime.fromisoformat(word)
        return millis(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise InvalidInput(f"{text!r} is no moment", hint="write 2026-03-01T09:00+01:00, or 20m") from None


def read_schedule(
    now: int,
    *,
    at: str | None = None,
    every: str | None = None,
    cron: str | None = None,
    zone: str | None = None,
) -> Schedule:
    """Exactly one of them; `zone` belongs to an expression."""
    match at, every, cron:
        case str(), None, None if zone is None:
            return At(at=read_moment(at, now))
        case None, str(), None if zone is None:
            return Every(every_ms=read_span(every), anchor=now)
        case None, None, str():
            return Cron(expression=cron, zone=zone)
        case _:
            raise InvalidInput("a job has one schedule", hint=_ONE)


def written(moment: int) -> str:
    """A moment as it is read."""
    return local(moment, UTC).isoformat().replace("+00:00", "Z")
