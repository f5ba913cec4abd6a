"""Writes that must not be given up because the store cannot take them at the moment."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from roost.core.errors import StoreUnavailable
from roost.core.restarts import restart_ms
from roost.ports import Clock

Answer = TypeVar("Answer")


async def until_kept(clock: Clock, write: Callable[[], Awaitable[Answer]]) -> Answer:
    """Write, again and again while the store is unavailable. An attempt that was begun is not cut short, and one is
    made even by who was cancelled; what that one cannot write is left to recovery."""
    failures = 0
    while True:
        with anyio.CancelScope(shield=True):
            try:
                return await write()
            except StoreUnavailable:
                failures += 1
        await clock.sleep(restart_ms(failures, 0.0))
