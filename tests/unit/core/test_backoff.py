from dataclasses import replace

import pytest

from roost.core.backoff import GIVE_UP_MS, QUICK_MS, SLOW_MS, after_doubt, after_failure, wait_ms
from roost.core.deliveries import Delivery, Postponed, Rejected
from roost.testing import builders
from roost.testing.clock import NOON

MINUTE = 60_000


def tried(attempts: int) -> Delivery:
    return replace(builders.delivery("d-1"), attempts=attempts)


@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [
        (1, 5),
        (2, 10),
        (3, 20),
        (4, 15),
        (5, 30),
        (6, 60),
        (7, 120),
        (8, 240),
        (9, 300),
        (10, 300),
        (1000, 300),
    ],
)
def test_waits_are_short_three_times_and_then_double_up_to_five_minutes(attempts: int, seconds: int) -> None:
    assert wait_ms(attempts, 0.0) == seconds * 1000


def test_a_delivery_without_an_attempt_waits_as_after_the_first() -> None:
    assert wait_ms(0, 0.0) == 5_000


@pytest.mark.parametrize(("attempts", "longest"), [(1, 5_000), (4, 18_000), (9, 360_000)])
def test_chance_lengthens_only_the_doubling_waits_by_at_most_a_fifth(attempts: int, longest: int) -> None:
    assert wait_ms(attempts, 0.5) <= longest
    assert longest - 5 <= wait_ms(attempts, 0.99999) <= longest


def test_a_failure_that_may_pass_is_tried_again_later_with_its_reason() -> None:
    assert after_failure(tried(1), "timeout", NOON, 0.7) == Postponed(ready_at=NOON + 5_000, error="timeout")
    assert after_failure(tried(5), "timeout", NOON, 0.5) == Postponed(ready_at=NOON + 33_000, error="timeout")


def test_trying_ends_half_an_hour_after_the_message_was_made() -> None:
    end = NOON + GIVE_UP_MS
    assert after_failure(tried(12), "timeout", end, 0.0) == Rejected(error="expired: timeout")
    assert after_failure(tried(12), "timeout", end - 1, 0.0) == Postponed(ready_at=end, error="timeout")
    assert after_failure(tried(12), "timeout", end - MINUTE, 0.0) == Postponed(ready_at=end, error="timeout")


def test_a_message_first_tried_late_still_gets_its_short_waits() -> None:
    late = NOON + 2 * GIVE_UP_MS
    assert after_failure(tried(3), "timeout", late, 0.0) == Postponed(ready_at=late + 20_000, error="timeout")
    assert after_failure(tried(4), "timeout", late, 0.0) == Rejected(error="expired: timeout")


@pytest.mark.parametrize("attempts", [1, 4])
def test_a_platform_that_asks_for_more_time_gets_it(attempts: int) -> None:
    wish = NOON + 10 * MINUTE
    assert after_failure(tried(attempts), "slow down", NOON, 0.0, not_before=wish) == Postponed(
        ready_at=wish, error="slow down"
    )


def test_a_platform_that_asks_for_more_time_than_is_left_ends_it() -> None:
    wish = NOON + GIVE_UP_MS
    assert after_failure(tried(4), "slow down", NOON, 0.0, not_before=wish) == Rejected(
        error="expired: slow down"
    )


def test_all_attempts_of_a_message_lie_within_its_half_hour() -> None:
    now, times = NOON, list[int]()
    for attempts in range(1, 100):
        result = after_failure(tried(attempts), "timeout", now, 0.3)
        if not isinstance(result, Postponed):
            break
        now = result.ready_at
        times.append(now - NOON)
    assert times == sorted(times)
    assert times[-1] == GIVE_UP_MS
    assert len(times) == 13


def test_what_was_in_doubt_goes_at_once_the_first_time_then_ever_more_rarely_and_not_for_ever() -> None:
    doubted = [tried(attempts) for attempts in range(1, 8)]
    waits = [after_doubt(one, NOON, 0.0) for one in doubted]
    assert [one.ready_at - NOON for one in waits if isinstance(one, Postponed)] == [
        0,
        *QUICK_MS,
        SLOW_MS,
        2 * SLOW_MS,
        4 * SLOW_MS,
    ]
    assert isinstance(after_doubt(doubted[-1], NOON + GIVE_UP_MS, 0.0), Rejected)
    assert after_doubt(replace(doubted[0], error="lost"), NOON, 0.0) == Postponed(ready_at=NOON, error="lost")
