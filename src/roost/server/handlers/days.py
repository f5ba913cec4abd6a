"""The days that a question is about, on the clocks of a place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from roost.core.errors import InvalidInput
from roost.core.figures import DAY_MS
from roost.core.queries import Calendar, Shift
from roost.engine.zones import zone_named
from roost.protocol.families import usage as family

FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(9998, 12, 31)
_OFFSET = re.compile(r"UTC([+-])(\d{1,2})(?::([0-5]\d))?", re.ASCII)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """From the first to the last, both counted in."""

    first: date
    last: date
    zone: tzinfo

    @property
    def since(self) -> int:
        return _begins(self.first, self.zone)

    @property
    def until(self) -> int:
        return _begins(self.last + _DAY, self.zone)

    def calendar(self, now: int) -> Calendar:
        """Of the clocks of days that are to come there is nothing to ask."""
        last = min(self.last, datetime.fromtimestamp(now / 1000, self.zone).date() + _DAY)
        ahead = _ahead(self.first, self.since)
        if self.zone.utcoffset(None) is not None:
            return Calendar(ahead=ahead)
        return Calendar(ahead=ahead, shifts=tuple(self._shifts(last)))

    def _shifts(self, last: date) -> Iterator[Shift]:
        """Where a day does not begin, or does not end, 24 hours after the one before it."""
        day, begins = self.first, self.since
        ahead = _ahead(day, begins)
        while day <= last:
            ends = _begins(day + _DAY, self.zone)
            if ends - begins > DAY_MS:
                # By clocks that were not set back yet, the rest of it would be the next day.
                yield Shift(since=begins + DAY_MS, ahead=ahead - DAY_MS)
            day, begins = day + _DAY, ends
            if ahead != _ahead(day, begins):
                ahead = _ahead(day, begins)
                yield Shift(since=begins, ahead=ahead)


def days_of(asked: family.Span, length: int | None, house_zone: tzinfo, now: int) -> Days:
    """Without a first day so many up to the last, or all."""
    zone = _zone(asked, house_zone)
    last = _day(asked.end_date) or datetime.fromtimestamp(now / 1000, zone).date()
    first = FIRST_DAY if length is None else last - timedelta(days=length - 1)
    return Days(first=_day(asked.start_date) or max(first, FIRST_DAY), last=last, zone=zone)


def date_of(day: int) -> str:
    return (FIRST_DAY + timedelta(days=day)).isoformat()


def _zone(asked: family.Span, house_zone: tzinfo) -> tzinfo:
    named = asked.time_zone or asked.utc_offset
    if asked.mode != "specific" and (named is None or asked.mode is not None):
        if named is not None:
            raise InvalidInput(
                f"`mode` {asked.mode} has its own days, not those of {named}",
                hint="give `mode` specific, or leave `timeZone` and `utcOffset` out",
            )
        return house_zone if asked.mode == "gateway" else UTC
    if asked.time_zone is not None:
        return zone_named(asked.time_zone, house_zone)
    written = _OFFSET.fullmatch(asked.utc_offset or "")
    if written is None or int(written[2]) > 14:
        raise InvalidInput(
            f"`utcOffset` {asked.utc_offset!r} is none", hint="give `timeZone`, or write UTC+2 or UTC-3:30"
        )
    ahead = timedelta(hours=int(written[2]), minutes=int(written[3] or 0))
    return timezone(ahead if written[1] == "+" else -ahead)


def _day(text: str | None) -> date | None:
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        day = date.max
    if day is not None and not FIRST_DAY <= day <= LAST_DAY:
        raise InvalidInput(f"invalid params: {text!r} is no day", hint="write 2026-01-31")
    return day


def _begins(day: date, zone: tzinfo) -> int:
    return int(datetime.combine(day, time(), zone).timestamp() * 1000)


def _number(day: date) -> int:
    return (day - FIRST_DAY).days


def _ahead(day: date, begins: int) -> int:
    """By how much the clocks there are ahead of UTC as a day begins."""
    return _number(day) * DAY_MS - begins
