import time

import anyio

from roost.clock import SystemClock
from roost.ports import Clock


def test_it_tells_the_machines_time_in_utc_milliseconds() -> None:
    clock: Clock = SystemClock()
    before = time.time_ns() // 1_000_000
    now = clock.now()
    after = time.time_ns() // 1_000_000
    assert before <= now <= after


async def test_it_sleeps_at_least_as_long_as_asked_and_not_a_thousand_times_longer() -> None:
    clock = SystemClock()
    before = time.monotonic_ns()
    with anyio.fail_after(5):
        await clock.sleep(20)
    assert time.monotonic_ns() - before >= 19_000_000


async def test_a_sleeper_can_be_cancelled() -> None:
    with anyio.move_on_after(0) as scope:
        await SystemClock().sleep(60_000)
    assert scope.cancelled_caught
