"""Waiting for something to happen, for so long and no longer."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from roost.core.errors import RoostError
from roost.ports import Clock

Answer = TypeVar("Answer")


async def within(clock: Clock, milliseconds: int, work: Callable[[], Awaitable[Answer]]) -> Answer | None:
    """What `work` answers, or None if it takes longer; it is then cancelled."""
    answers: list[Answer] = []
    failures: list[RoostError] = []
    # Each ends the other and nothing else: who waits goes on undisturbed.
    working, ringing = anyio.CancelScope(), anyio.CancelScope()

    async def ask() -> None:
        with working:
            try:
                answers.append(await work())
            except RoostError as error:
                # Kept aside: what leaves a task group is wrapped in a group of its own.
                failures.append(error)
        ringing.cancel()

    async def ring() -> None:
        with ringing:
            await clock.sleep(milliseconds)
        working.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        group.start_soon(ring)
    if failures:
        raise failures[0]
    return answers[0] if answers else None
