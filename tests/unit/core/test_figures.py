from datetime import UTC, timedelta, timezone

import pytest

from roost.core.figures import (
    age,
    ahead,
    counted,
    dollars,
    duration,
    in_millis,
    moment,
    read_duration,
    span,
    thousands,
)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (-1, "0s"),
        (0, "0s"),
        (59_999, "59s"),
        (61_000, "1m01s"),
        (3_600_000, "1h00m00s"),
        (3_723_000, "1h02m03s"),
    ],
)
def test_durations(milliseconds: int, text: str) -> None:
    assert duration(milliseconds) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (-5, "now"),
        (0, "now"),
        (5_000, "5s ago"),
        (90_000, "1m ago"),
        (7_200_000, "2h ago"),
        (2 * 86_400_000, "2d ago"),
    ],
)
def test_ages(milliseconds: int, text: str) -> None:
    assert age(milliseconds) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0s"), (1_500, "1s 500ms"), (1_800_000, "30m"), (5_400_000, "1h 30m"), (86_400_000, "1d")],
)
def test_a_span_is_told_whole(milliseconds: int, text: str) -> None:
    assert span(milliseconds) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0, "now"), (999, "now"), (61_000, "in 1m"), (90_000_000, "in 1d")]
)
def test_what_is_to_come(milliseconds: int, text: str) -> None:
    assert ahead(milliseconds) == text


def test_counts_and_money() -> None:
    assert [thousands(count) for count in (0, 999, 1_000, 1_240)] == ["0", "999", "1k", "1.2k"]
    assert dollars(1_234) == "$0.0012"
    assert [counted(1, "run"), counted(2, "run"), counted(0, "entry", "entries")] == [
        "1 run",
        "2 runs",
        "0 entries",
    ]


def test_a_moment_is_shown_in_the_zone() -> None:
    assert moment(0, UTC) == "1970-01-01 00:00"
    assert moment(0, timezone(timedelta(hours=2))) == "1970-01-01 02:00"


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("500ms", 500), ("2s", 2_000), (" 30M ", 1_800_000), ("24h", 86_400_000), ("7d", 604_800_000)],
)
def test_a_duration_as_people_write_it(text: str, milliseconds: int) -> None:
    assert read_duration(text) == milliseconds


@pytest.mark.parametrize("text", ["", "5", "5w", "-1s", "1.5h", "s", "9999999999s"])
def test_what_is_no_duration(text: str) -> None:
    assert read_duration(text) is None


def test_a_bare_number_counts_in_the_given_unit() -> None:
    assert read_duration("5", bare="ms") == 5


@pytest.mark.parametrize(
    ("seconds", "milliseconds"),
    [(0, 0), (2.5, 2_500), (60, 60_000), (61, 60_000), (1e308, 60_000), (float("inf"), 60_000)],
)
def test_seconds_of_any_size_are_at_most_so_many_milliseconds(seconds: float, milliseconds: int) -> None:
    assert in_millis(seconds, 60_000) == milliseconds
