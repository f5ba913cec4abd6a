"""Wrong credentials, counted by where they come from."""

import pytest

from roost.core.entrance import Attempts
from roost.server.throttle import ALL_TIMES, MOST_SOURCES, Throttle

LIMIT = Attempts(most=3, window_ms=1_000)


@pytest.mark.requirement("S2")
def test_who_was_wrong_too_often_is_slowed_until_the_first_of_it_is_past() -> None:
    throttle = Throttle()
    for now in (0, 100, 200):
        assert throttle.retry_ms("a", now, LIMIT) == 0
        throttle.count("a", now, LIMIT)
    assert throttle.retry_ms("a", 300, LIMIT) == 700
    assert throttle.retry_ms("b", 300, LIMIT) == 0
    assert throttle.retry_ms("a", 1_000, LIMIT) == 0
    throttle.count("a", 1_000, LIMIT)
    assert throttle.retry_ms("a", 1_050, LIMIT) == 50


def test_many_places_together_slow_all_of_which_something_wrong_came_and_nobody_else() -> None:
    throttle = Throttle()
    throttle.count("once", 0, LIMIT)
    for number in range(1, ALL_TIMES * LIMIT.most):
        assert throttle.retry_ms("once", 500, LIMIT) == 0
        throttle.count(f"source-{number}", 500, LIMIT)
    assert throttle.retry_ms("once", 500, LIMIT) == 500
    assert throttle.retry_ms("fresh", 500, LIMIT) == 0
    # What came of it is past, though others go on.
    assert throttle.retry_ms("once", 1_000, LIMIT) == 0


def test_the_places_that_are_remembered_are_bounded() -> None:
    throttle, strict = Throttle(), Attempts(most=1, window_ms=1_000_000)
    for number in range(MOST_SOURCES + 1):
        throttle.count(f"source-{number}", number * 100, strict)
    now = MOST_SOURCES * 100 + 1
    assert throttle.retry_ms(f"source-{MOST_SOURCES}", now, strict) > 0
    assert len(throttle._wrong) == MOST_SOURCES


@pytest.mark.requirement("S2")
def test_one_place_alone_does_not_slow_everybody() -> None:
    throttle = Throttle()
    for _ in range(ALL_TIMES * LIMIT.most * 2):
        throttle.count("a", 0, LIMIT)
    assert throttle.retry_ms("a", 0, LIMIT) == 1_000
    assert throttle.retry_ms("b", 0, LIMIT) == 0


def test_who_goes_on_counts_again_in_the_next_window() -> None:
    throttle = Throttle()
    for now in range(0, 2_000, 100):
        for number in range(ALL_TIMES):
            throttle.count(f"source-{number}", now, LIMIT)
    throttle.count("once", 1_900, LIMIT)
    assert throttle.retry_ms("once", 1_900, LIMIT) > 0
