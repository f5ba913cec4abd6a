"""A command that goes on until it is interrupted, or until nobody reads what it says."""

import io
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


@asynccontextmanager
async def while_read() -> AsyncIterator[None]:
    """Whoever has read enough, as `head`, ends the block at once, and not when there is something more to say."""
    async with anyio.create_task_group() as group:
        group.start_soon(_until_unread)
        yield
        group.cancel_scope.cancel()


async def _until_unread() -> None:
    try:
        out = sys.stdout.fileno()
    except io.UnsupportedOperation:
        return
    if stat.S_ISFIFO(os.fstat(out).st_mode):
        # Of the end that is written to nothing is ever read: it is only told that the other one is closed.
        await anyio.wait_readable(out)
        raise BrokenPipeError
