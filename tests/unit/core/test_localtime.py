from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from roost.core.localtime import LAST_MOMENT, Day, day_of, local, next_hour

BERLIN = ZoneInfo("Europe/Berlin")
SANTIAGO = ZoneInfo("America/Santiago")
HOUR = 3_600_000


def at(text: str, zone: tzinfo) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


@pytest.mark.parametrize("time", ["00:00", "12:30", "23:59"])
@pytest.mark.parametrize("zone", [UTC, BERLIN])
def test_a_day_goes_from_midnight_to_midnight_of_its_place(time: str, zone: tzinfo) -> None:
    day = day_of(at(f"2025-06-15T{time}", zone), zone)
    assert day == Day(start=at("2025-06-15T00:00", zone), end=at("2025-06-16T00:00", zone))


@pytest.mark.parametrize(("date", "hours"), [("2025-03-30", 23), ("2025-10-26", 25)])
def test_a_day_on_which_the_clocks_change_is_shorter_or_longer(date: str, hours: int) -> None:
    day = day_of(at(f"{date}T12:00", BERLIN), BERLIN)
    assert day.end - day.start == hours * HOUR


def test_a_day_whose_midnight_is_skipped_begins_where_the_clocks_land() -> None:
    day = day_of(at("2025-09-07T12:00", SANTIAGO), SANTIAGO)
    assert day.start == at("2025-09-07T01:00", SANTIAGO)


def test_the_next_hour_is_later_than_the_moment_asked_for() -> None:
    assert next_hour(at("2025-06-15T04:00", BERLIN), 4, BERLIN) == at("2025-06-16T04:00", BERLIN)
    assert next_hour(at("2025-06-15T03:59", BERLIN), 4, BERLIN) == at("2025-06-15T04:00", BERLIN)


def test_the_next_hour_moves_on_when_it_has_begun_whoever_asked_before() -> None:
    half_past = ZoneInfo("Asia/Kolkata")  # its hours begin within an hour of UTC
    begins = at("2025-06-15T04:00", half_past)
    assert next_hour(begins - 60_000, 4, half_past) == begins
    assert next_hour(begins - 1, 4, half_past) == begins
    assert next_hour(begins, 4, half_past) == at("2025-06-16T04:00", half_past)
    assert next_hour(begins + 60_000, 4, half_past) == at("2025-06-16T04:00", half_past)


def test_an_hour_that_lies_inside_a_gap_begins_where_the_clocks_land() -> None:
    st_johns = ZoneInfo("America/St_Johns")
    midnight = at("2009-03-08T00:00", st_johns)
    # At one minute past midnight the clocks went on by an hour.
    assert next_hour(midnight, 1, st_johns) == midnight + 60_000


def test_what_is_later_than_any_clock_shows_is_shown_as_the_last() -> None:
    assert local(2**62, UTC) == local(LAST_MOMENT, UTC) == datetime(9999, 1, 1, tzinfo=UTC)
    assert local(LAST_MOMENT + 1_000, UTC).second == 1
    with pytest.raises(OverflowError):
        local(-(2**62), UTC)
