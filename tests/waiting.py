"""Waiting until nothing but time or the world goes on."""

import asyncio


async def until_all_wait() -> None:
    """Until every other task waits for something. Unlike anyio's own, it takes turns of the loop and no time."""
    quiet = 0
    while quiet < 2:
        # A turn also hears what has come by sockets and from threads, so one in which all wait is not the end yet.
        await _turn()
        quiet = 0 if any(map(_goes_on, asyncio.all_tasks() - {asyncio.current_task()})) else quiet + 1


async def _turn() -> None:
    """By a future and not `sleep(0)`, so that of two who wait like this the later finds the other waiting."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    loop.call_soon(over.set_result, None)
    await over


def _goes_on(task: "asyncio.Task[object]") -> bool:
    waiter = task._fut_waiter  # type: ignore[attr-defined]
    return waiter is None or bool(waiter.done())
