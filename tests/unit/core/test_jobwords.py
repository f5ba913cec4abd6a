import pytest

from roost.core.errors import InvalidInput
from roost.core.jobwords import read_moment, read_schedule, read_span, written
from roost.core.schedules import At, Cron, Every, Schedule
from roost.testing.clock import NOON


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


def test_what_is_no_moment_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no moment"):
        read_moment("tomorrow", NOON)


def test_a_moment_is_written_as_it_is_read() -> None:
    assert written(NOON) == "2025-06-15T15:06:40Z"
    assert read_moment(written(NOON + 123), NOON) == NOON + 123


@pytest.mark.parametrize(
    ("given", "schedule"),
    [
        ({"at": "20m"}, At(at=NOON + 1_200_000)),
        ({"every": "2h"}, Every(every_ms=7_200_000, anchor=NOON)),
        ({"cron": "@daily"}, Cron(expression="@daily")),
        ({"cron": "@daily", "zone": "Europe/Berlin"}, Cron(expression="@daily", zone="Europe/Berlin")),
    ],
)
def test_a_schedule_is_one_of_three(given: dict[str, str], schedule: Schedule) -> None:
    assert read_schedule(NOON, **given) == schedule


@pytest.mark.parametrize("given", [{}, {"at": "20m", "every": "1h"}, {"every": "1h", "zone": "UTC"}])
def test_no_schedule_or_two_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="one schedule"):
        read_schedule(NOON, **given)
