"""The machine's own clock."""

import time

import anyio


class SystemClock:
    """Wall time in UTC milliseconds."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep(self, milliseconds: int) -> None:
        await anyio.sleep(milliseconds / 1000)
