"""Work that is given up when its time is over, by a clock."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from roost.core.errors import RoostError
from roost.ports import Clock

Answer = TypeVar("Answer")
LONGEST_WAIT_MS = 5_000


class OutOfTime(RoostError):
    """The work was given up."""

    code = "timeout"


async def within(clock: Clock, milliseconds: int, work: Callable[[], Awaitable[Answer]]) -> Answer:
    """The answer of `work`, if it comes in time."""
    deadline = clock.now() + milliseconds
    return await watched(clock, lambda: deadline - clock.now(), work)


async def if_within(clock: Clock, milliseconds: int, work: Callable[[], Awaitable[Answer]]) -> Answer | None:
    """The answer of `work`, or None if it does not come in time."""
    try:
        return await within(clock, milliseconds, work)
    except OutOfTime:
        return None


async def watched(clock: Clock, left: Callable[[], int], work: Callable[[], Awaitable[Answer]]) -> Answer:
    """The answer of `work`, which is cancelled once no milliseconds are left to it."""
    disarm: Callable[[], None] = _nothing

    def look() -> None:
        nonlocal disarm
        if (milliseconds := left()) > 0:
            # Not for longer at once: what is left may also become less.
            disarm = clock.later(min(milliseconds, LONGEST_WAIT_MS), look)
        else:
            scope.cancel()

    with anyio.CancelScope() as scope:
        look()
        try:
            return await work()
        except RoostError:
            # What breaks because it is given up has no end of its own.
            if not scope.cancel_called:
                raise
        finally:
            disarm()
    raise OutOfTime("it took too long")


def _nothing() -> None:
    """There is no alarm yet."""
