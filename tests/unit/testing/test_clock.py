from collections.abc import Callable

import anyio
import pytest

from roost.ports import Clock
from roost.testing.clock import NOON, FakeClock
from tests.waiting import until_all_wait

BOUND = 60


async def test_time_stands_still_until_it_is_advanced() -> None:
    clock: Clock = FakeClock()
    assert clock.now() == NOON
    await anyio.lowlevel.checkpoint()
    assert clock.now() == NOON


def test_it_starts_when_told_and_moves_as_far_as_told() -> None:
    clock = FakeClock(now=7)
    clock.advance(5)
    clock.advance(1)
    assert clock.now() == 13


async def test_sleepers_wake_in_order_of_their_time() -> None:
    clock, woken = FakeClock(), list[int]()

    async def sleep(milliseconds: int) -> None:
        await clock.sleep(milliseconds)
        woken.append(milliseconds)

    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            for milliseconds in (30, 10, 20, 10):
                tasks.start_soon(sleep, milliseconds)
            await until_all_wait()
            clock.advance(9)
            await until_all_wait()
            assert woken == []
            clock.advance(11)
            await until_all_wait()
            assert woken == [10, 10, 20]
            clock.advance(10)
    assert woken == [10, 10, 20, 30]


@pytest.mark.parametrize("milliseconds", [0, -1])
async def test_a_sleep_that_is_over_at_once_returns(milliseconds: int) -> None:
    with anyio.fail_after(BOUND):
        await FakeClock().sleep(milliseconds)


async def test_a_sleeper_that_was_cancelled_is_forgotten() -> None:
    clock = FakeClock()
    with anyio.move_on_after(0):
        await clock.sleep(10)
    assert clock._alarms == {}


def test_what_is_to_be_done_later_is_done_in_order_of_its_time_unless_it_is_called_off() -> None:
    clock, done = FakeClock(), list[str]()
    clock.later(20, lambda: done.append("second"))
    first = clock.later(10, lambda: done.append("first"))
    off = clock.later(10, lambda: done.append("never"))
    off()
    clock.advance(19)
    assert done == ["first"]
    first()
    clock.advance(1)
    assert done == ["first", "second"]


def test_what_is_done_may_call_off_what_is_due_at_the_same_time() -> None:
    clock, done, due = FakeClock(), list[str](), list[Callable[[], None]]()

    def call_off() -> None:
        due.pop()()

    clock.later(10, call_off)
    due.append(clock.later(10, lambda: done.append("never")))
    clock.advance(10)
    assert (done, due) == ([], [])
