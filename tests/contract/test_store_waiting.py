"""Waiting: asked at once and after each piece of news, none of it missed; and closing."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import pytest

from roost.core.effects import AddDelivery, ChangeSession, DelayRun, DeleteSession, EndRun, Pin, QueueRun
from roost.core.errors import NotFound, StoreUnavailable
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.retention import Cutoffs
from roost.core.runs import Outcome, RunState, Step, StepKind
from roost.ports import Store, Topic, TopicKind
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON
from tests.contract.homes import Home
from tests.contract.scenes import accepted, always, change, known, opened, queued, started

SIDE = SessionKey.named("main", "side")
HOOK = SessionKey.parse("agent:main:hook:one")
RUNS, DELIVERIES = Topic(TopicKind.RUNS), Topic(TopicKind.DELIVERIES)
OF_MAIN = Topic(TopicKind.SESSION, str(MAIN))
BOUND = 60


class Watcher:
    """Waits for a topic until told to stop; counts how often it was asked."""

    def __init__(self, store: Store, topic: Topic) -> None:
        self._store = store
        self._topic = topic
        self._asked = 0
        self._news = anyio.Event()

    async def run(self) -> None:
        await self._store.wait_for(self._topic, self._check)

    async def _check(self) -> None:
        self._asked += 1
        self._news.set()
        self._news = anyio.Event()

    async def asked(self, times: int) -> None:
        with anyio.fail_after(BOUND):
            while self._asked < times:
                await self._news.wait()

    @property
    def count(self) -> int:
        return self._asked


async def test_what_is_there_already_is_found_at_once(store: Store) -> None:
    await opened(store)
    found = await store.wait_for(OF_MAIN, lambda: store.session(MAIN))
    assert found == await known(store)


async def test_a_found_value_may_be_falsy(store: Store) -> None:
    async def check() -> tuple[()]:
        return ()

    assert await store.wait_for(RUNS, check) == ()


async def test_whoever_waits_is_asked_again_after_news_until_it_has_an_answer(store: Store) -> None:
    await opened(store)

    async def three_entries() -> int | None:
        count = (await known(store)).summary.entries
        return count if count >= 3 else None

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_append_one_by_one, store)
        with anyio.fail_after(BOUND):
            assert await store.wait_for(OF_MAIN, three_entries) >= 3


async def _append_one_by_one(store: Store) -> None:
    for number in range(3):
        await store.append(MAIN, (builders.said(f"e-{number}", "x"),))


async def test_news_between_asking_and_waiting_is_not_missed(store: Store) -> None:
    """The one piece of news comes while `check` still looks at what was before it."""
    await opened(store)
    looked = False

    async def check() -> str | None:
        nonlocal looked
        session = await known(store)
        if not looked:
            looked = True
            await store.append(MAIN, (builders.said("e-1", "x"),))
        return "seen" if session.summary.entries else None

    with anyio.fail_after(BOUND):
        assert await store.wait_for(OF_MAIN, check) == "seen"


async def test_a_check_that_raises_ends_the_wait(store: Store) -> None:
    async def check() -> None:
        raise NotFound("gone")

    with pytest.raises(NotFound):
        await store.wait_for(RUNS, check)


async def test_whoever_stops_waiting_is_asked_no_more(store: Store) -> None:
    await opened(store)
    watcher = Watcher(store, OF_MAIN)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        await watcher.asked(1)
        tasks.cancel_scope.cancel()
    witness = Watcher(store, OF_MAIN)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(witness.run)
        await witness.asked(1)
        await change(store, Pin(key=MAIN, at=1))
        await witness.asked(2)
        tasks.cancel_scope.cancel()
    assert watcher.count == 1


async def test_all_who_wait_for_a_topic_hear_of_it(store: Store) -> None:
    await opened(store)
    watchers = [Watcher(store, OF_MAIN) for _ in range(5)]
    async with anyio.create_task_group() as tasks:
        for watcher in watchers:
            tasks.start_soon(watcher.run)
        for watcher in watchers:
            await watcher.asked(1)
        await change(store, Pin(key=MAIN, at=1))
        for watcher in watchers:
            await watcher.asked(2)
        tasks.cancel_scope.cancel()


Act = Callable[[Store, Lease], Awaitable[object]]


async def act_change(store: Store, lease: Lease) -> None:
    await change(store, Pin(key=MAIN, at=1))


async def act_append(store: Store, lease: Lease) -> None:
    await store.append(MAIN, (builders.said("e-1", "x"),))


async def act_route(store: Store, lease: Lease) -> None:
    await change(store, ChangeSession(key=MAIN, route=replace(CHAT, to="elsewhere")))


async def act_accept(store: Store, lease: Lease) -> None:
    await accepted(store, "m-1", "r-1")


async def act_delete(store: Store, lease: Lease) -> None:
    await change(store, DeleteSession(key=MAIN))


async def act_start(store: Store, lease: Lease) -> None:
    await started(store, lease, "r-1")


async def act_queue(store: Store, lease: Lease) -> None:
    await queued(store, "r-1")


async def act_delay(store: Store, lease: Lease) -> None:
    await queued(store, "r-1")
    await change(store, DelayRun(run_id="r-1", ready_at=NOON + 1))


async def act_finish(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))


async def act_deliver(store: Store, lease: Lease) -> None:
    await change(store, AddDelivery(delivery=builders.delivery("d-1")))


async def test_a_run_that_leaves_its_place_is_news_for_those_who_start_runs(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    claim = await started(store, lease, "r-1")
    watcher = Watcher(store, RUNS)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        await watcher.asked(1)
        await store.begin_step(claim, Step(kind=StepKind.TOOL, at=NOON, call_id="c", waits=True))
        await watcher.asked(2)
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("topic", "act"),
    [
        (OF_MAIN, act_change),
        (OF_MAIN, act_append),
        (OF_MAIN, act_route),
        (OF_MAIN, act_accept),
        (OF_MAIN, act_delete),
        (OF_MAIN, act_start),
        (OF_MAIN, act_deliver),
        (RUNS, act_accept),
        (RUNS, act_queue),
        (RUNS, act_delay),
        (RUNS, act_finish),
        (DELIVERIES, act_deliver),
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value.kind),
)
async def test_each_kind_of_work_is_news_for_its_topic(
    store: Store, lease: Lease, topic: Topic, act: Act
) -> None:
    await opened(store)
    watcher = Watcher(store, topic)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        await watcher.asked(1)
        await act(store, lease)
        await watcher.asked(2)
        tasks.cancel_scope.cancel()


async def test_other_sessions_and_undone_work_are_no_news(store: Store) -> None:
    await opened(store)
    await opened(store, SIDE)
    watchers = [Watcher(store, topic) for topic in (OF_MAIN, RUNS, DELIVERIES)]
    async with anyio.create_task_group() as tasks:
        for watcher in watchers:
            tasks.start_soon(watcher.run)
            await watcher.asked(1)
        await change(store, Pin(key=SIDE, at=1))
        with pytest.raises(NotFound):
            await change(
                store,
                Pin(key=MAIN, at=1),
                QueueRun(run=builders.run("r-1")),
                AddDelivery(delivery=builders.delivery("d-1")),
                Pin(key=HOOK, at=1),
            )
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert [watcher.count for watcher in watchers] == [1, 1, 1]


async def test_a_swept_session_is_news_for_who_watches_it(store: Store) -> None:
    await opened(store, HOOK)
    watcher = Watcher(store, Topic(TopicKind.SESSION, str(HOOK)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        await watcher.asked(1)
        await store.sweep(Cutoffs(synthetic_before=NOON + 1))
        await watcher.asked(2)
        tasks.cancel_scope.cancel()


# -- closing -----------------------------------------------------------------------------------------


async def test_what_was_asked_for_before_closing_is_finished(home: Home) -> None:
    store = home.store
    await opened(store)
    async with anyio.create_task_group() as tasks:
        for number in range(50):
            drafts = (builders.said(f"e-{number}", "x"),)
            tasks.start_soon(store.append, MAIN, drafts)
        await anyio.wait_all_tasks_blocked()
        store = await home.reopen()
    assert (await known(store)).summary.entries == 50


async def test_whoever_waits_when_the_store_closes_is_told(home: Home) -> None:
    asked = anyio.Event()

    async def check() -> None:
        asked.set()

    async def wait() -> None:
        with pytest.raises(StoreUnavailable):
            await home.store.wait_for(RUNS, check)

    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await asked.wait()
            await home.store.close()
    await home.open()


async def test_a_caller_that_stops_waiting_leaves_a_whole_verb_or_none(home: Home) -> None:
    await opened(home.store)
    effects = (Pin(key=MAIN, at=7), AddDelivery(delivery=builders.delivery("d-1")))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await home.store.change_session(MAIN, always(*effects))
    store = await home.reopen()
    pinned = (await known(store)).times.pinned is not None
    assert pinned == (await store.delivery("d-1") is not None)


async def test_who_watches_is_told_after_the_commit_and_before_whoever_made_it_goes_on(store: Store) -> None:
    told: list[SessionKey] = []
    await opened(store)
    await opened(store, SIDE)
    with store.watch(MAIN, told.append):
        await change(store, Pin(key=MAIN, at=1))
        assert set(told) == {MAIN}
        await change(store, Pin(key=SIDE, at=1), key=SIDE)
        with pytest.raises(NotFound):
            await change(store, Pin(key=HOOK, at=1), key=HOOK)
        assert set(told) == {MAIN}
    told.clear()
    await change(store, Pin(key=MAIN, at=2))
    assert told == []


async def test_who_watches_every_session_is_told_of_each(store: Store) -> None:
    told: list[SessionKey] = []
    with store.watch(None, told.append):
        await opened(store)
        assert MAIN in told
        await opened(store, SIDE)
        assert SIDE in told
        told.clear()
        await change(store, DeleteSession(key=SIDE), key=SIDE)
        assert SIDE in told


async def test_who_watches_ends_is_told_of_each_session_of_which_a_run_ended(
    store: Store, lease: Lease
) -> None:
    told: list[SessionKey] = []
    with store.watch_ends(told.append):
        claim = await started(store, lease, "r-1")
        await store.begin_step(claim, Step(kind=StepKind.MODEL, at=NOON))
        await queued(store, "r-2")
        assert told == []
        outcome = Outcome(state=RunState.DONE, at=NOON)
        await store.finish_run(claim, lambda snapshot: (EndRun(run_id="r-1", outcome=outcome),))
        assert set(told) == {MAIN}
        told.clear()
        await change(store, EndRun(run_id="r-2", outcome=outcome))
        assert set(told) == {MAIN}


async def test_who_watches_for_due_runs_is_told_before_whoever_queued_one_goes_on(store: Store) -> None:
    told: list[str] = []
    await opened(store)
    with store.watch_for(Topic(TopicKind.RUNS_DUE), lambda: told.append("due")):
        await change(store, Pin(key=MAIN, at=1))
        assert told == []
        await queued(store, "r-1")
        assert told
    told.clear()
    await queued(store, "r-2")
    assert told == []
