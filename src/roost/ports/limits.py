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
    answers: list[Answer] = []
    failures: list[RoostError] = []
    # Only the watch is cancelled when the work is done: who did it goes on undisturbed.
    watching = anyio.CancelScope()
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            with watching:
                while (milliseconds := left()) > 0:
                    # Not for longer at once: what is left may also become less.
                    await clock.sleep(min(milliseconds, LONGEST_WAIT_MS))
                failures.append(OutOfTime("it took too long"))
                group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            answers.append(await work())
        except RoostError as error:
            # Kept aside: what leaves a task group is wrapped in a group of its own.
            failures.append(error)
        watching.cancel()
    if answers:
        return answers[0]
    raise failures[0]
