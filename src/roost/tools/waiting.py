"""Waiting for something that may not come."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from roost.ports import Clock

Answer = TypeVar("Answer")


async def up_to(clock: Clock, milliseconds: int, wait: Callable[[], Awaitable[Answer]]) -> Answer | None:
    """What `wait` brings, or None when the time is over."""
    found: list[Answer] = []
    async with anyio.create_task_group() as group:

        async def end() -> None:
            await clock.sleep(milliseconds)
            group.cancel_scope.cancel()

        group.start_soon(end)
        found.append(await wait())
        group.cancel_scope.cancel()
    return found[0] if found else None
