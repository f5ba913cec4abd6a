"""Waiting for something that may not come."""

import anyio

from roost.clock import SystemClock
from roost.tools.waiting import up_to


async def test_what_comes_in_time_is_had() -> None:
    async def soon() -> str:
        return "here"

    assert await up_to(SystemClock(), 10_000, soon) == "here"


async def test_what_does_not_come_is_given_up() -> None:
    async def never() -> str:
        await anyio.sleep_forever()
        return "never"

    assert await up_to(SystemClock(), 1, never) is None
