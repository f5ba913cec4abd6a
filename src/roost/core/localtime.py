"""Hours and days of a place: the instants at which they begin, whatever its clocks do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache

_SPAN_MS = 3_600_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_MOMENT = (datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
"""No clock shows what is much later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One local day, from its first instant to that of the next."""

    start: int
    end: int


def day_of(moment: int, zone: tzinfo) -> Day:
    """The day an instant is in."""
    start = max(start for start in _starts(moment, 0, zone) if start <= moment)
    return Day(start=start, end=next_hour(moment, 0, zone))


def next_hour(after: int, hour: int, zone: tzinfo) -> int:
    """The first start of that local hour later than `after`."""
    # Every message asks. What comes first after an earlier moment comes first after this one too, if it is still to come.
    known = _next_hour(after - after % _SPAN_MS, hour, zone)
    return known if known > after else _next_hour(after, hour, zone)


@lru_cache(maxsize=256)
def _next_hour(after: int, hour: int, zone: tzinfo) -> int:
    return min(start for start in _starts(after, hour, zone) if start > after)


def wall(moment: int, zone: tzinfo) -> datetime:
    """What the clocks show."""
    return local(moment, zone).replace(tzinfo=None)


def instant(shown: datetime, zone: tzinfo) -> int:
    """When the clocks first show that; a time they skip is when they land behind it."""
    # fold=0 reads with the offset before a change: the first of two occurrences, or too late in a gap.
    earliest = millis(shown.replace(tzinfo=zone, fold=0))
    before = millis(shown.replace(tzinfo=zone, fold=1))
    if before >= earliest:
        return earliest
    return _first(before, earliest, lambda moment: wall(moment, zone) >= shown)


def changed(start: int, end: int, zone: tzinfo) -> int | None:
    """When the clocks first go by another offset than at `start`, if they do at `end`."""
    offset = local(start, zone).utcoffset()
    if local(end, zone).utcoffset() == offset:
        return None
    return _first(start, end, lambda moment: local(moment, zone).utcoffset() != offset)


def _starts(around: int, hour: int, zone: tzinfo) -> Iterator[int]:
    # Clocks that go back over midnight make the local date fall behind for a while: look on both sides.
    today = local(around, zone).date()
    return (_hour_start(today + timedelta(days=offset), hour, zone) for offset in (-1, 0, 1, 2))


def _hour_start(day: date, hour: int, zone: tzinfo) -> int:
    """The first instant whose local time is that hour or later."""
    return instant(datetime.combine(day, time(hour)), zone)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first instant in (low, high] at which `holds` is true, given that it then stays true."""
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def local(moment: int, zone: tzinfo) -> datetime:
    """An instant as the clocks of a place show it; of one that is later than they can, the last that all of them do."""
    try:
        return (_EPOCH + timedelta(milliseconds=moment)).astimezone(zone)
    except OverflowError:
        if moment < LAST_MOMENT:
            raise
        return local(LAST_MOMENT, zone)


def millis(moment: datetime) -> int:
    """The instant that a clock shows."""
    return (moment.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)
