from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.errors import InvalidInput
from roost.core.schedules import (
    At,
    Cron,
    Every,
    Schedule,
    next_due,
    read_moment,
    read_schedule,
    read_span,
    written,
)
from roost.testing.clock import NOON
from tests.scale import examples

BERLIN = ZoneInfo("Europe/Berlin")
MINUTE = 60_000


def zones(name: str | None) -> tzinfo:
    return UTC if name is None else ZoneInfo(name)


def at(text: str, zone: tzinfo = UTC) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


def due(schedule: Schedule, after: str, count: int = 1, zone: tzinfo = BERLIN) -> list[str]:
    """The next moments, as they are shown in a place."""
    found, moment = [], at(after, zone)
    for _ in range(count):
        following = next_due(schedule, moment, zones)
        assert following is not None
        assert following > moment
        moment = following
        found.append(datetime.fromtimestamp(moment / 1000, zone).strftime("%m-%d %H:%M:%S %Z"))
    return found


def berlin(expression: str) -> Cron:
    return Cron(expression=expression, zone="Europe/Berlin")


def test_once_is_due_once() -> None:
    assert next_due(At(at=5), 4, zones) == 5
    assert next_due(At(at=5), 5, zones) is None


def test_every_so_often_counts_from_its_anchor() -> None:
    every = Every(every_ms=10_000, anchor=5_000)
    assert [next_due(every, after, zones) for after in (0, 5_000, 14_999, 15_000, 1_000_001)] == [
        5_000,
        15_000,
        15_000,
        25_000,
        1_005_000,
    ]


@pytest.mark.parametrize("every_ms", [-1, 0, 999, 10**12])
def test_an_interval_nobody_means_is_refused(every_ms: int) -> None:
    with pytest.raises(InvalidInput, match="no schedule"):
        Every(every_ms=every_ms, anchor=0)


def test_a_fixed_time_that_the_clocks_skip_is_due_where_they_land() -> None:
    assert due(berlin("30 2 * * *"), "2025-03-29T12:00", 2) == ["03-30 03:00:00 CEST", "03-31 02:30:00 CEST"]
    assert due(berlin("15 30 2 * * *"), "2025-03-29T12:00") == ["03-30 03:00:00 CEST"]
    assert due(berlin("0,30 2 * * *"), "2025-03-30T01:00", 2) == [
        "03-30 03:00:00 CEST",
        "03-31 02:00:00 CEST",
    ]


def test_a_fixed_time_that_the_clocks_repeat_is_due_the_first_time_only() -> None:
    once = ["10-26 02:30:00 CEST", "10-27 02:30:00 CET"]
    assert due(berlin("30 2 * * *"), "2025-10-26T00:00", 2) == once
    assert due(berlin("0 30 2 * * *"), "2025-10-26T00:00", 2) == once


def test_a_time_that_is_shown_again_is_over() -> None:
    again = datetime(2025, 10, 26, 2, 40, tzinfo=BERLIN, fold=1)
    found = next_due(berlin("50 2 * * *"), int(again.timestamp() * 1000), zones)
    assert found == at("2025-10-27T02:50", BERLIN)


def test_what_is_due_by_the_hour_is_due_in_both_hours_that_look_alike() -> None:
    assert due(berlin("30 * * * *"), "2025-10-26T01:00", 4) == [
        "10-26 01:30:00 CEST",
        "10-26 02:30:00 CEST",
        "10-26 02:30:00 CET",
        "10-26 03:30:00 CET",
    ]
    assert due(berlin("*/30 * * * *"), "2025-03-30T01:00", 3) == [
        "03-30 01:30:00 CET",
        "03-30 03:00:00 CEST",
        "03-30 03:30:00 CEST",
    ]


def test_seconds_stand_first() -> None:
    assert due(berlin("*/20 * * * * *"), "2025-06-01T00:00", 3) == [
        "06-01 00:00:20 CEST",
        "06-01 00:00:40 CEST",
        "06-01 00:01:00 CEST",
    ]


@pytest.mark.parametrize(
    ("word", "fields"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        (" @Midnight ", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_a_word_stands_for_its_fields(word: str, fields: str) -> None:
    assert due(berlin(word), "2025-06-01T00:00", 3) == due(berlin(fields), "2025-06-01T00:00", 3)


def test_without_a_zone_the_gateways_own_clock_counts() -> None:
    assert due(Cron(expression="0 9 * * *"), "2025-06-01T00:00", zone=UTC) == ["06-01 09:00:00 UTC"]


def test_a_moment_between_two_seconds_is_over() -> None:
    assert next_due(Cron(expression="* * * * * *"), 1_500, zones) == 2_000


@pytest.mark.parametrize(
    "expression",
    ["", "*", "* * * *", "61 * * * *", "@reboot", "0 0 30 2 *", "a b c d e", "* * * * * * *", "1 " * 200],
)
def test_what_is_no_expression_is_refused_with_the_form_of_one(expression: str) -> None:
    with pytest.raises(InvalidInput, match="five fields"):
        Cron(expression=expression)


@pytest.mark.parametrize("expression", ["0 0 */31 * 1L", "* * */31 * 1L"])
def test_a_day_that_never_comes_is_never_due(expression: str) -> None:
    """The first of a month is none of its last Mondays."""
    assert next_due(berlin(expression), 0, zones) is None


FIELD = st.text("0123456789*/,-#LWMONJAN ?@²", max_size=6)


@settings(deadline=None, max_examples=examples(200, 20_000))
@given(st.lists(FIELD, min_size=4, max_size=7))
def test_any_text_is_a_schedule_or_refused(fields: list[str]) -> None:
    try:
        cron = Cron(expression=" ".join(fields), zone="Europe/Berlin")
    except InvalidInput:
        return
    found = next_due(cron, at("2025-03-30T01:00", BERLIN), zones)
    assert found is None or found > at("2025-03-30T01:00", BERLIN)


@pytest.mark.parametrize(
    ("text", "span"),
    [("250ms", 250), ("90s", 90_000), (" 30M ", 1_800_000), ("2h", 7_200_000), ("1d", 86_400_000)],
)
def test_a_span_is_a_number_and_its_unit(text: str, span: int) -> None:
    assert read_span(text) == span


@pytest.mark.parametrize("text", ["", "soon", "5", "-5m", "1w", "5 m m"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="no span"):
        read_span(text)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("20m", NOON + 1_200_000),
        ("1750000000000", NOON),
        ("2025-06-15T15:06:40Z", NOON),
        ("2025-06-15T17:06:40+02:00", NOON),
        ("2025-06-15T15:06:40", NOON),
    ],
)
def test_a_moment_is_read_in_every_usual_form(text: str, moment: int) -> None:
    assert read_moment(text, NOON) == moment


@pytest.mark.parametrize("text", ["tomorrow", "0001-01-01T00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="no moment"):
        read_moment(text, NOON)


@pytest.mark.parametrize("text", ["9999-01-01T00:00:01", "253370764800001", "9999999999999999", "999999999d"])
def test_a_moment_that_no_clock_shows_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="later than any clock shows"):
        read_moment(text, NOON)


def test_a_moment_is_written_as_it_is_read() -> None:
    assert written(NOON) == "2025-06-15T15:06:40Z"
    assert read_moment(written(NOON + 123), NOON) == NOON + 123


@pytest.mark.parametrize(
    ("words", "schedule"),
    [
        ({"at": "20m"}, At(at=NOON + 1_200_000)),
        ({"every": "2h"}, Every(every_ms=7_200_000, anchor=NOON)),
        ({"cron": "@daily"}, Cron(expression="@daily")),
        ({"cron": "@daily", "zone": "Europe/Berlin"}, Cron(expression="@daily", zone="Europe/Berlin")),
    ],
)
def test_a_schedule_is_one_of_three(words: dict[str, str], schedule: Schedule) -> None:
    assert read_schedule(NOON, **words) == schedule


@pytest.mark.parametrize("words", [{}, {"at": "20m", "every": "1h"}, {"every": "1h", "zone": "UTC"}])
def test_no_schedule_or_two_are_refused(words: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="one schedule"):
        read_schedule(NOON, **words)
