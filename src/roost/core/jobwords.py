"""Schedules as people write them: a moment, a span, an expression with its place."""

import re
from datetime import UTC, datetime

from roost.core.errors import InvalidInput
from roost.core.figures import UNITS
from roost.core.localtime import local, millis
from roost.core.schedules import At, Cron, Every, Schedule

_SPAN = re.compile(r"(\d{1,9})\s*(ms|s|m|h|d)", re.ASCII)
_MILLIS = re.compile(r"\d{10,16}", re.ASCII)
_ONE = "give one of: at (a moment or a span from now), every (a span), cron (an expression, with tz)"


def read_span(text: str) -> int:
    """`90s`, `30m`, `2h` or `1d`, in milliseconds."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise InvalidInput(f"{text!r} is no span of time", hint="write 90s, 30m, 2h or 1d")
    return int(found[1]) * UNITS[found[2]]


def read_moment(text: str, now: int) -> int:
    """An ISO time (in UTC unless it says otherwise), UTC milliseconds, or a span from now."""
    word = text.strip()
    if _SPAN.fullmatch(word.lower()):
        return now + read_span(word)
    if _MILLIS.fullmatch(word):
        return int(word)
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        raise InvalidInput(f"{text!r} is no moment", hint="write 2026-03-01T09:00+01:00, or 20m") from None
    known = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return millis(known)


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
