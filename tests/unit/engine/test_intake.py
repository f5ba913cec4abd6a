"""Work is taken as there is room for it."""

import anyio

from roost.engine.intake import Intake
from roost.ports import Topic, TopicKind
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock

RUNS = Topic(TopicKind.RUNS)


def intake(clock: FakeClock, most: int = 2) -> Intake[str]:
    return Intake(MemoryStore(clock), clock, RUNS, most=most, poll_ms=500)


async def test_no_more_is_asked_for_than_there_is_room() -> None:
    asked: list[int] = []

    async def claim(free: int) -> tuple[str, ...]:
        asked.append(free)
        return ("job",)

    taking = intake(FakeClock())
    assert await taking.take(claim) == ("job",)
    assert await taking.take(claim) == ("job",)
    assert asked == [2, 1]
    with anyio.move_on_after(0.05) as waiting:
        await taking.take(claim)
    assert waiting.cancelled_caught
    with taking.underway():
        pass
    assert await taking.take(claim) == ("job",)
    assert asked == [2, 1, 1]


async def test_without_news_it_looks_again_after_a_while() -> None:
    clock = FakeClock()
    taken: list[tuple[str, ...]] = []

    async def nothing(free: int) -> tuple[str, ...]:
        return ()

    async def take() -> None:
        taken.append(await intake(clock).take(nothing))

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        await anyio.wait_all_tasks_blocked()
        assert taken == []
        clock.advance(500)
    assert taken == [()]


async def test_a_job_that_waits_lends_its_place_and_goes_on_when_others_have_it() -> None:
    asked: list[int] = []

    async def claim(free: int) -> tuple[str, ...]:
        asked.append(free)
        return ("job",)

    taking = intake(FakeClock(), most=1)
    await taking.take(claim)
    with taking.underway():
        with taking.lent():
            await taking.take(claim)
        assert asked == [1, 1]
        with anyio.move_on_after(0.05) as waiting:
            await taking.take(claim)
        assert waiting.cancelled_caught
    with anyio.move_on_after(0.05) as waiting:
        await taking.take(claim)
    assert waiting.cancelled_caught
