import anyio
import pytest

from roost.core.errors import StoreUnavailable
from roost.core.keys import SessionKey
from roost.ports import Topic, TopicKind
from roost.stores.topics import Topics
from tests.waiting import until_all_wait

RUNS, DELIVERIES = Topic(TopicKind.RUNS), Topic(TopicKind.DELIVERIES)
BOUND = 60


class Answers:
    """A check that has its answers laid out, None for not yet."""

    def __init__(self, *answers: str | None) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def __call__(self) -> str | None:
        self.asked += 1
        return self._answers.pop(0)


async def test_an_answer_that_is_there_needs_no_news() -> None:
    topics = Topics()
    assert await topics.wait_for(RUNS, Answers("found")) == "found"
    assert topics._waiters == {}


async def test_news_of_the_topic_and_of_no_other_asks_again() -> None:
    topics, check = Topics(), Answers(None, None, "found")
    found = []

    async def wait() -> None:
        found.append(await topics.wait_for(RUNS, check))

    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await until_all_wait()
            topics.wake([DELIVERIES, Topic(TopicKind.SESSION, "agent:main:main")])
            await until_all_wait()
            assert check.asked == 1
            topics.wake([RUNS])
            await until_all_wait()
            assert (check.asked, found) == (2, [])
            topics.wake([RUNS])
    assert found == ["found"]
    assert topics._waiters == {}


async def test_news_while_the_check_runs_is_not_missed() -> None:
    topics, asked = Topics(), 0

    async def check() -> str | None:
        nonlocal asked
        asked += 1
        if asked == 1:
            topics.wake([RUNS])
            await anyio.lowlevel.checkpoint()
            return None
        return "found"

    with anyio.fail_after(BOUND):
        assert await topics.wait_for(RUNS, check) == "found"


async def test_a_waiter_that_is_cancelled_or_fails_leaves_nothing_behind() -> None:
    topics = Topics()

    async def fail() -> None:
        raise KeyError("gone")

    with anyio.move_on_after(0):
        await topics.wait_for(RUNS, Answers(None))
    with pytest.raises(KeyError):
        await topics.wait_for(RUNS, fail)
    assert topics._waiters == {}


async def test_one_that_stops_waiting_does_not_take_others_along() -> None:
    topics, found = Topics(), []

    async def wait() -> None:
        found.append(await topics.wait_for(RUNS, Answers(None, "found")))

    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await until_all_wait()
            with anyio.move_on_after(0):
                await topics.wait_for(RUNS, Answers(None))
            topics.wake([RUNS])
    assert found == ["found"]


async def test_at_the_end_everybody_who_waits_is_told() -> None:
    topics, told = Topics(), []

    async def wait(topic: Topic) -> None:
        with pytest.raises(StoreUnavailable):
            await topics.wait_for(topic, Answers(None, None))
        told.append(topic)

    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait, RUNS)
            tasks.start_soon(wait, DELIVERIES)
            await until_all_wait()
            topics.close()
    assert len(told) == 2
    assert topics._waiters == {}


async def test_after_the_end_an_answer_that_is_there_is_still_given() -> None:
    topics = Topics()
    topics.close()
    assert await topics.wait_for(RUNS, Answers("found")) == "found"
    with pytest.raises(StoreUnavailable):
        await topics.wait_for(RUNS, Answers(None))


def test_watchers_are_told_of_sessions_until_they_leave_and_nothing_is_kept_of_them() -> None:
    topics, one, every = Topics(), list[SessionKey](), list[SessionKey]()
    main, side = SessionKey.named("main", "main"), SessionKey.named("main", "side")
    ends: list[SessionKey] = []
    of_main, of_side = Topic(TopicKind.SESSION, str(main)), Topic(TopicKind.SESSION, str(side))
    news = [RUNS, of_main, of_side, Topic(TopicKind.RUN_ENDED, str(side))]
    of_all = Topic(TopicKind.SESSION)
    with topics.watching(of_main, one.append), topics.watching(Topic(TopicKind.RUN_ENDED), ends.append):
        topics.wake(news)
        with topics.watching(of_all, every.append), topics.watching(of_all, every.append):
            topics.wake(news)
    topics.wake(news)
    assert one == [main, main]
    assert every == [main, main, side, side]
    assert ends == [side, side]
    assert topics._watchers == {}


def test_who_heeds_a_topic_is_told_of_it_and_of_whatever_may_have_been_missed() -> None:
    topics, told = Topics(), list[str]()
    with topics.heeding(RUNS, lambda: told.append("runs")):
        topics.wake([DELIVERIES])
        assert told == []
        topics.wake([RUNS])
        topics.wake_all()
        assert told == ["runs", "runs"]
    topics.wake([RUNS])
    topics.wake_all()
    assert told == ["runs", "runs"]
