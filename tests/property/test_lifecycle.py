from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.lifecycle import ResetMode, ResetRule, Stale, freshness, next_reset
from tests.scale import examples

ZONES: tuple[tzinfo, ...] = (
    ZoneInfo("Europe/Berlin"),
    ZoneInfo("America/New_York"),
    ZoneInfo("America/St_Johns"),
    ZoneInfo("America/Santiago"),
    ZoneInfo("Australia/Lord_Howe"),
    ZoneInfo("Asia/Kolkata"),
    ZoneInfo("UTC"),
    timezone(timedelta(hours=-9, minutes=-30)),
)
YEAR_2009, YEAR_2027 = 1_230_768_000_000, 1_798_761_600_000

zones = st.sampled_from(ZONES)
instants = st.integers(YEAR_2009, YEAR_2027)
rules = st.builds(
    ResetRule,
    mode=st.sampled_from(ResetMode),
    at_hour=st.integers(0, 23),
    idle_minutes=st.sampled_from((0, 1, 60, 1440, 10_080)),
)


def stale(rule: ResetRule, last: int, now: int, zone: tzinfo) -> bool:
    return isinstance(freshness(rule, last, now, zone), Stale)


@pytest.mark.requirement("P9")
@settings(max_examples=examples(60, 2000))
@given(rules, zones, instants, st.integers(0, 10**10), st.integers(0, 10**10))
def test_once_stale_a_session_stays_stale_and_speaking_later_never_makes_it_staler(
    rule: ResetRule, zone: tzinfo, last: int, wait: int, more: int
) -> None:
    now = last + wait
    assert stale(rule, last, now, zone) <= stale(rule, last, now + more, zone)
    assert stale(rule, last + more, now, zone) <= stale(rule, last, now, zone)


@settings(max_examples=examples(60, 2000))
@given(zones, instants, st.integers(0, 23))
def test_the_boundary_is_the_first_instant_whose_local_time_has_reached_the_hour(
    zone: tzinfo, last: int, hour: int
) -> None:
    found = next_reset(ResetRule(mode=ResetMode.DAILY, at_hour=hour), last, zone)
    assert found is not None
    assert last < found.boundary <= last + 26 * 3_600_000
    reached = datetime.fromtimestamp(found.boundary // 1000, UTC).astimezone(zone)
    just_before = datetime.fromtimestamp(found.boundary // 1000 - 1, UTC).astimezone(zone)
    start = reached.replace(tzinfo=None, hour=hour, minute=0, second=0, microsecond=0, fold=0)
    assert just_before.replace(tzinfo=None) < start <= reached.replace(tzinfo=None)


@pytest.mark.requirement("P9", "D42")
@pytest.mark.parametrize("zone", ZONES[: examples(4, len(ZONES))])
@pytest.mark.parametrize("hour", [2, 4])
def test_over_four_hundred_days_the_first_message_after_each_boundary_resets_and_no_other(
    zone: tzinfo, hour: int
) -> None:
    daily, never = ResetRule(mode=ResetMode.DAILY, at_hour=hour), ResetRule(mode=ResetMode.NONE)
    start = int(datetime(2024, 1, 10, 12, tzinfo=UTC).timestamp() * 1000)
    step = 53 * 60_000

    def day(now: int) -> date:
        """The reset day of an instant: its date, counted from the hour on."""
        local = datetime.fromtimestamp(now / 1000, zone)
        return (local.replace(tzinfo=None) - timedelta(hours=hour)).date()

    last, resets, days = start, [], {day(start)}
    for now in range(start + step, start + 400 * 86_400_000, step):
        assert not stale(never, last, now, zone)
        if stale(daily, last, now, zone):
            resets.append(day(now))
        days.add(day(now))
        last = now
    assert resets == sorted(days - {day(start)})
    assert len(resets) >= 399
