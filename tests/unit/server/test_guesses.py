"""Attempts that wait before they are looked at."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import pytest
from anyio.abc import TaskGroup

from roost.server.guesses import (
    AT_ONCE,
    LONGEST_MS,
    MOST,
    MOST_ALIKE,
    MOST_OF_ONE,
    OF_ONE,
    SLOWED_MS,
    Guesses,
)
from roost.testing.clock import FakeClock
from tests.waiting import until_all_wait


class Line:
    """Those who wait, and who was looked at or not."""

    def __init__(self, group: TaskGroup) -> None:
        self.clock = FakeClock()
        self.seen: list[str] = []
        self.unseen: list[str] = []
        self._guesses = Guesses()
        self._group = group

    def come(self, source: str, shown: str, times: int = 1) -> None:
        for _ in range(times):
            self._group.start_soon(self._wait, source, shown)

    async def passes(self, milliseconds: int) -> None:
        await until_all_wait()
        self.clock.advance(milliseconds)
        await until_all_wait()

    async def _wait(self, source: str, shown: str) -> None:
        looked_at = await self._guesses.wait(self.clock, source, shown)
        (self.seen if looked_at else self.unseen).append(shown)


@asynccontextmanager
async def lines() -> AsyncIterator[Line]:
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            yield Line(group)
            group.cancel_scope.cancel()


async def test_each_waits_and_so_many_are_looked_at_in_that_time() -> None:
    async with lines() as line:
        for number in range(10):
            line.come("a", str(number))
        await line.passes(SLOWED_MS - 1)
        assert line.seen == []
        for second in (1, 2):
            await line.passes(1 if second == 1 else SLOWED_MS)
            assert len(line.seen) == OF_ONE * second
        await line.passes(SLOWED_MS)
        assert sorted(line.seen) == sorted(map(str, range(10)))


async def test_all_sources_together_have_so_many_places_and_each_its_own() -> None:
    async with lines() as line:
        for source in range(8):
            for number in range(OF_ONE + 1):
                line.come(str(source), f"{source}-{number}")
        await line.passes(SLOWED_MS)
        assert len(line.seen) == AT_ONCE
        await line.passes(SLOWED_MS)
        assert len(line.seen) == 2 * AT_ONCE


@pytest.mark.requirement("S2")
async def test_what_is_shown_again_and_again_has_one_place_and_no_longer_than_any() -> None:
    async with lines() as line:
        for shown in range(OF_ONE):
            line.come("a", f"old-{shown}", 10)
        line.come("a", "right")
        await line.passes(SLOWED_MS // 2)
        for shown in range(OF_ONE):
            line.come("a", f"old-{shown}", 10)
        await line.passes(SLOWED_MS // 2)
        assert len(line.seen) == OF_ONE * 20
        for shown in range(OF_ONE):
            line.come("a", f"old-{shown}")
        await line.passes(SLOWED_MS)
        assert "right" in line.seen


@pytest.mark.requirement("S2")
async def test_who_has_waited_too_long_or_finds_no_room_is_told_that_it_was_not_looked_at() -> None:
    async with lines() as line:
        for number in range(MOST_OF_ONE):
            line.come("a", str(number))
        line.come("a", "one too many")
        line.come("b", "again", MOST_ALIKE + 1)
        await until_all_wait()
        assert line.unseen == ["one too many", "again"]
        await line.passes(LONGEST_MS)
        assert len(line.unseen) == 2 + MOST_OF_ONE - OF_ONE
        # There is room again.
        line.come("a", "another")
        await line.passes(SLOWED_MS)
        assert "another" in line.seen


async def test_only_so_many_wait_at_all() -> None:
    async with lines() as line:
        for number in range(MOST):
            line.come(str(number), "x")
        line.come("another", "y")
        await until_all_wait()
        assert line.unseen == ["y"]


async def test_who_leaves_gives_up_its_place() -> None:
    async with lines() as line, anyio.create_task_group() as group:
        guesses = Guesses()
        async with anyio.create_task_group() as leaving:
            for number in range(OF_ONE + 1):
                leaving.start_soon(partial(guesses.wait, line.clock, "a", str(number)))
            await until_all_wait()
            leaving.cancel_scope.cancel()
        found: list[bool] = []

        async def come() -> None:
            found.append(await guesses.wait(line.clock, "a", "right"))

        group.start_soon(come)
        await line.passes(SLOWED_MS)
        assert found == [True]
