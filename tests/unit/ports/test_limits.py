import anyio
import pytest
from anyio.lowlevel import checkpoint

from roost.core.errors import Fenced
from roost.ports.limits import OutOfTime, if_within, watched
from roost.testing.clock import FakeClock
from tests.waiting import until_all_wait


async def test_work_in_time_gives_its_answer() -> None:
    async def work() -> int:
        await checkpoint()
        return 7

    assert await watched(FakeClock(), lambda: 1000, work) == 7


async def test_an_error_of_the_work_comes_out_as_it_is() -> None:
    async def work() -> None:
        await checkpoint()
        raise Fenced("gone")

    with pytest.raises(Fenced, match="gone"):
        await watched(FakeClock(), lambda: 1000, work)


async def test_work_that_is_out_of_time_is_cancelled() -> None:
    clock, cancelled = FakeClock(), []
    deadline = clock.now() + 1000

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(True)

    async def hurry() -> None:
        await until_all_wait()
        clock.advance(1000)

    async with anyio.create_task_group() as group:
        group.start_soon(hurry)
        with pytest.raises(OutOfTime):
            await watched(clock, lambda: deadline - clock.now(), work)
    assert cancelled == [True]


async def test_work_whose_time_is_over_is_cancelled_where_it_first_waits() -> None:
    begun = []

    async def work() -> None:
        begun.append(True)
        await anyio.sleep_forever()

    with pytest.raises(OutOfTime):
        await watched(FakeClock(), lambda: 0, work)
    assert begun == [True]


async def test_what_breaks_because_its_time_is_over_is_out_of_time() -> None:
    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise Fenced("gone")

    with pytest.raises(OutOfTime):
        await watched(FakeClock(), lambda: 0, work)


async def test_progress_gives_more_time() -> None:
    clock = FakeClock()
    moved_at, enough = clock.now(), anyio.Event()

    async def work() -> str:
        await enough.wait()
        return "done"

    async def progress() -> None:
        nonlocal moved_at
        for _ in range(3):
            await until_all_wait()
            clock.advance(900)
            moved_at = clock.now()
        await until_all_wait()
        enough.set()

    async with anyio.create_task_group() as group:
        group.start_soon(progress)
        assert await watched(clock, lambda: 1000 - (clock.now() - moved_at), work) == "done"


async def test_an_answer_may_be_done_without() -> None:
    clock = FakeClock()
    answers: list[str | None] = []

    async def soon() -> str:
        await checkpoint()
        return "here"

    async def wait() -> None:
        answers.append(await if_within(clock, 1000, soon))
        answers.append(await if_within(clock, 1000, anyio.sleep_forever))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await until_all_wait()
        clock.advance(1000)
    assert answers == ["here", None]
