"""Work is begun as there is room for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from roost.core.errors import WriteUnknown
from roost.engine.intake import Intake, Source
from roost.ports import Topic, TopicKind
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from tests.waiting import until_all_wait

RUNS = Topic(TopicKind.RUNS)
POLL_MS = 500


class Work:
    """Jobs that wait, and those that were begun; `asked` is the room that claims were made with."""

    def __init__(self, *waiting: str, most: int = 2) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(self.clock)
        self.intake: Intake[str] = Intake(self.store, self.clock, RUNS, most=most, poll_ms=POLL_MS)
        self.waiting = list(waiting)
        self.begun: list[str] = []
        self.asked: list[int] = []
        self.answer = anyio.Event()
        self.answer.set()
        self.unheard = False
        self.source = Source(claim=self.claim, begin=self.begun.append, unclaim=self.unclaim)

    async def unclaim(self) -> None:
        self.asked.append(0)

    async def claim(self, free: int) -> tuple[str, ...]:
        self.asked.append(free)
        claimed, self.waiting = self.waiting[:free], self.waiting[free:]
        await self.answer.wait()
        if self.unheard:
            raise WriteUnknown("it was lost")
        return tuple(claimed)

    def end(self) -> None:
        with self.intake.underway():
            pass

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(self.intake.serve, self.source)
            await until_all_wait()
            yield
            group.cancel_scope.cancel()

    async def news(self) -> None:
        self.store.topics.wake([RUNS])
        await until_all_wait()


async def test_no_more_is_asked_for_than_there_is_room_and_more_as_soon_as_there_is() -> None:
    work = Work("a", "b", "c")
    async with work.serving():
        assert (work.begun, work.asked) == (["a", "b"], [2])
        await work.news()
        assert work.asked == [2]
        work.end()
        await until_all_wait()
        assert (work.begun, work.asked) == (["a", "b", "c"], [2, 1])


async def test_a_job_that_waits_lends_its_place_and_goes_on_when_others_have_it() -> None:
    work = Work("a", "b", "c", most=1)
    async with work.serving():
        with work.intake.underway():
            with work.intake.lent():
                await until_all_wait()
                assert work.begun == ["a", "b"]
            await work.news()
            assert work.begun == ["a", "b"]
        await work.news()
        assert work.begun == ["a", "b"]
        work.end()
        await until_all_wait()
        assert work.begun == ["a", "b", "c"]


async def test_while_nothing_is_new_nothing_is_asked() -> None:
    work = Work("a", most=3)
    async with work.serving():
        assert work.asked == [3]
        work.end()
        await until_all_wait()
        assert work.asked == [3]
        await work.news()
        assert work.asked == [3, 3]


async def test_without_news_it_looks_again_after_a_while() -> None:
    work = Work()
    async with work.serving():
        work.waiting.append("late")
        await until_all_wait()
        assert work.begun == []
        work.clock.advance(POLL_MS)
        await until_all_wait()
        assert work.begun == ["late"]


async def test_news_that_comes_during_a_claim_is_not_missed() -> None:
    work = Work()
    work.answer = anyio.Event()
    async with work.serving():
        await work.news()
        work.waiting.append("meanwhile")
        work.answer.set()
        await until_all_wait()
        assert work.begun == ["meanwhile"]


@pytest.mark.requirement("P3")
async def test_what_was_claimed_is_begun_even_when_it_ends_just_then() -> None:
    work = Work("a")
    work.answer = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(work.intake.serve, work.source)
        await until_all_wait()
        group.cancel_scope.cancel()
        work.answer.set()
    assert work.begun == ["a"]


async def test_after_it_is_closed_nothing_is_begun_and_what_is_under_way_is_waited_for() -> None:
    work, rested = Work("a", "b", "c"), anyio.Event()

    async def rest() -> None:
        await work.intake.rest()
        rested.set()

    async with work.serving(), anyio.create_task_group() as group:
        group.start_soon(rest)
        work.intake.close()
        with work.intake.underway(), work.intake.lent():
            pass
        await until_all_wait()
        assert (work.begun, rested.is_set()) == (["a", "b"], False)
        work.end()
        await rested.wait()
        assert work.asked == [2]
    await work.intake.rest()


async def test_what_is_being_asked_for_when_it_is_closed_is_waited_for_too() -> None:
    work, rested = Work("a"), anyio.Event()
    work.answer = anyio.Event()

    async def rest() -> None:
        await work.intake.rest()
        rested.set()

    async with work.serving(), anyio.create_task_group() as group:
        work.intake.close()
        group.start_soon(rest)
        await until_all_wait()
        assert not rested.is_set()
        work.answer.set()
        await until_all_wait()
        assert (work.begun, rested.is_set()) == (["a"], False)
        work.end()
        await rested.wait()


async def test_what_was_claimed_unheard_is_given_back_once_before_more_is_asked_for() -> None:
    work = Work("a")
    work.unheard = True
    with pytest.raises(ExceptionGroup, match="unhandled"):
        await work.intake.serve(work.source)
    work.unheard = False
    async with work.serving():
        assert work.asked == [2, 0, 2]
        await work.news()
        assert work.asked == [2, 0, 2, 2]


async def test_what_is_claimed_elsewhere_and_given_is_begun_and_takes_a_place() -> None:
    work = Work("b", most=2)
    async with work.serving():
        assert (work.begun, work.intake.room) == (["b"], 1)
        work.intake.give("a")
        assert work.intake.room == 0
        await until_all_wait()
        assert (work.begun, work.asked) == (["b", "a"], [2])
        work.end()
        assert work.intake.room == 1
        work.intake.close()
        assert work.intake.room == 0


async def test_while_it_is_not_known_what_was_claimed_there_is_no_room() -> None:
    work = Work("a")
    work.answer = anyio.Event()
    async with work.serving():
        assert work.intake.room == 0
        work.answer.set()
        await until_all_wait()
        assert work.intake.room == 1


async def test_what_is_given_too_late_is_given_back_before_more_is_asked_for() -> None:
    work = Work()
    async with work.serving():
        pass
    work.intake.give("late")
    async with work.serving():
        assert (work.begun, work.asked) == ([], [2, 0, 2])
    await work.intake.rest()


async def test_what_is_given_and_not_begun_leaves_its_place_and_is_given_back() -> None:
    work = Work("claimed")
    work.answer = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(work.intake.serve, work.source)
        await until_all_wait()
        work.intake.give("given")
        group.cancel_scope.cancel()
        work.answer.set()
    assert work.begun == ["claimed"]
    work.end()
    async with work.serving():
        assert (work.begun, work.asked, work.intake.room) == (["claimed"], [2, 0, 2], 2)
    await work.intake.rest()
