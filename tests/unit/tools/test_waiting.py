import anyio
import pytest

from roost.core.errors import StoreUnavailable
from roost.testing.clock import FakeClock
from roost.tools.waiting import within


async def test_an_answer_that_comes_in_time_is_had() -> None:
    async def work() -> str:
        await anyio.lowlevel.checkpoint()
        return "here"

    assert await within(FakeClock(), 1_000, work) == "here"


async def test_work_that_takes_longer_is_cancelled() -> None:
    clock, ended = FakeClock(), anyio.Event()

    async def work() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return "never"

    answers: list[str | None] = []

    async def wait() -> None:
        answers.append(await within(clock, 1_000, work))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        clock.advance(999)
        await anyio.wait_all_tasks_blocked()
        assert not ended.is_set()
        clock.advance(1)
    assert answers == [None]
    assert ended.is_set()


async def test_what_goes_wrong_is_told_as_it_is() -> None:
    async def work() -> str:
        raise StoreUnavailable("the disk is full")

    with pytest.raises(StoreUnavailable):
        await within(FakeClock(), 1_000, work)
