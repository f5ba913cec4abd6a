"""Two years of clocks that change: exactly the due moments, found by looking at every minute."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest

from roost.core.schedules import Cron, next_due
from tests.scale import FULL

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
START, END = datetime(2025, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

# Expression → the minutes, hours, days of the month and days of the week (Monday is 0) it names.
SHOWN = {
    "*/15 * * * *": (range(0, 60, 15), range(24), range(1, 32), range(7)),
    "30 */2 * * *": ((30,), range(0, 24, 2), range(1, 32), range(7)),
    "*/20 1-3 * * SUN": (range(0, 60, 20), (1, 2, 3), range(1, 32), (6,)),
}
FIXED = {
    "30 2 * * *": ((2, 30), range(1, 32), range(7)),
    "@daily": ((0, 0), range(1, 32), range(7)),
    "0 59 1 * * 0": ((1, 59), range(1, 32), (6,)),
    "15 2 1,15 * *": ((2, 15), (1, 15), range(7)),
}


def spans(zone: tzinfo) -> Iterator[tuple[datetime, datetime]]:
    """All of it, or the days around each change of the clocks."""
    if FULL:
        yield START, END
        return
    day = START
    while day < END:
        if day.astimezone(zone).utcoffset() != (day + timedelta(days=1)).astimezone(zone).utcoffset():
            yield day - timedelta(days=2), day + timedelta(days=3)
        day += timedelta(days=1)


def simulated(expression: str, zone: str, start: datetime, end: datetime) -> list[datetime]:
    cron = Cron(expression=expression, zone=zone)
    found: list[datetime] = []
    moment = int(start.timestamp() * 1000)
    while True:
        following = next_due(cron, moment, lambda name: ZoneInfo(name or "UTC"))
        assert following is not None
        moment = following
        if moment >= end.timestamp() * 1000:
            return found
        found.append(datetime.fromtimestamp(moment / 1000, UTC))


@pytest.mark.parametrize("name", ZONES)
def test_what_is_shown_on_the_wall_is_due_each_time_it_is_shown(name: str) -> None:
    zone = ZoneInfo(name)
    for start, end in spans(zone):
        seen: dict[str, list[datetime]] = {expression: [] for expression in SHOWN}
        moment = start + MINUTE
        while moment < end:
            wall = moment.astimezone(zone)
            for expression, (minutes, hours, days, weekdays) in SHOWN.items():
                if wall.minute in minutes and wall.hour in hours and wall.day in days:
                    seen[expression] += [moment] if wall.weekday() in weekdays else []
            moment += MINUTE
        for expression, moments in seen.items():
            assert simulated(expression, name, start, end) == moments, expression


@pytest.mark.parametrize("name", ZONES)
def test_a_fixed_time_is_due_once_on_each_of_its_days(name: str) -> None:
    zone = ZoneInfo(name)
    for start, end in spans(zone):
        seen: dict[str, dict[tuple[int, int, int], datetime]] = {expression: {} for expression in FIXED}
        moment = start + MINUTE
        while moment < end:
            wall = moment.astimezone(zone)
            day = (wall.year, wall.month, wall.day)
            for expression, (time, days, weekdays) in FIXED.items():
                if wall.day in days and wall.weekday() in weekdays and (wall.hour, wall.minute) >= time:
                    seen[expression].setdefault(day, moment)
            moment += MINUTE
        for expression, found in seen.items():
            # The day on which it begins may have had its time before.
            late = start.astimezone(zone)
            moments = [
                moment
                for day, moment in found.items()
                if day != (late.year, late.month, late.day) or moment > start + MINUTE
            ]
            assert simulated(expression, name, start, end) == moments, expression
