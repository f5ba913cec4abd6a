"""What is asked for at once is done in one go."""

from collections.abc import Sequence

import anyio

from roost.tools.gathering import Gathering


class Desk:
    """Notes what it was given at a time; a go may be held up."""

    def __init__(self) -> None:
        self.goes: list[list[str]] = []
        self.begun, self.free = anyio.Event(), anyio.Event()
        self.gathering = Gathering(self.act)

    async def act(self, items: Sequence[str]) -> None:
        self.begun.set()
        await self.free.wait()
        self.goes.append(list(items))


async def test_what_comes_at_once_goes_together_in_its_order() -> None:
    desk = Desk()
    desk.free.set()
    async with anyio.create_task_group() as group:
        for item in "abc":
            group.start_soon(desk.gathering.join, item)
    assert desk.goes == [["a", "b", "c"]]


async def test_what_comes_later_goes_next_and_is_dropped_when_its_caller_goes_first() -> None:
    desk = Desk()
    async with anyio.create_task_group() as group:
        group.start_soon(desk.gathering.join, "a")
        await desk.begun.wait()
        with anyio.CancelScope() as gone:
            gone.cancel()
            await desk.gathering.join("b")
        group.start_soon(desk.gathering.join, "c")
        desk.free.set()
    assert desk.goes == [["a"], ["c"]]


async def test_a_caller_that_goes_takes_nothing_from_the_others() -> None:
    desk = Desk()

    async def leave(scope: anyio.CancelScope) -> None:
        with scope:
            await desk.gathering.join("a")

    scope = anyio.CancelScope()
    async with anyio.create_task_group() as group:
        group.start_soon(leave, scope)
        group.start_soon(desk.gathering.join, "b")
        await desk.begun.wait()
        scope.cancel()
        desk.free.set()
    assert desk.goes == [["a", "b"]]
