"""A run may start in the transaction that queues it, and starts once whichever way."""

from roost.core.effects import QueueRun
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.runs import Run, RunState
from roost.core.turntaking import Backlog
from roost.ports import Starter, Store, Topic, TopicKind
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.contract.scenes import (
    accepted,
    always,
    as_entries,
    claim_of,
    everything,
    known,
    known_run,
    opened,
    queued,
    started,
)

SIDE = SessionKey.named("main", "side")
DUE = Topic(TopicKind.RUNS_DUE)


class Desk:
    """Who starts runs, and what it was given."""

    def __init__(self, lease: Lease) -> None:
        self.begun: list[Run] = []
        self.news = 0
        self.starter = Starter(lease=lease, choose=everything, begin=self.begun.append)

    def hear(self) -> None:
        self.news += 1


async def test_a_run_that_is_queued_is_started_at_once_or_is_news_and_never_both(
    store: Store, lease: Lease
) -> None:
    desk = Desk(lease)
    with store.starting(desk.starter), store.watch_for(DUE, desk.hear):
        await accepted(store, "m-1", "r-1")
        claimed = await store.claim_runs(lease, everything)
    (run,) = [*desk.begun, *claimed]
    assert bool(desk.begun) is (desk.news == 0)
    assert run == await known_run(store, "r-1")
    assert (run.state, claim_of(run).fence) == (RunState.RUNNING, 1)
    assert [entry.run_id for entry in await store.take_inputs(claim_of(run), as_entries)] == ["r-1"]


async def test_who_comes_first_is_not_overtaken(store: Store, lease: Lease) -> None:
    desk = Desk(lease)
    await opened(store, SIDE)
    await queued(store, "first", SIDE)
    with store.starting(desk.starter), store.watch_for(DUE, desk.hear):
        await accepted(store, "m-1", "second")
    assert (desk.begun, desk.news) == ([], 1)
    assert [run.id for run in await store.claim_runs(lease, everything)] == ["first", "second"]


async def test_a_session_has_one_run_at_a_time(store: Store, lease: Lease) -> None:
    desk = Desk(lease)
    claim = await started(store, lease, "r-1")
    with store.starting(desk.starter):
        await queued(store, "r-2")
        assert desk.begun == []
        await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))
    assert [run.id for run in await store.claim_runs(lease, everything)] == ["r-2"]


async def test_what_is_not_chosen_waits(store: Store, lease: Lease) -> None:
    desk, seen = Desk(lease), list[Backlog]()

    def nothing(backlog: Backlog) -> tuple[str, ...]:
        seen.append(backlog)
        return ()

    running = await started(store, lease, "r-1", SIDE)
    with store.starting(Starter(lease=lease, choose=nothing, begin=desk.begun.append)):
        await accepted(store, "m-1", "r-2")
    for backlog in seen:
        assert [run.id for run in backlog.ready] == ["r-2"]
        assert [claim_of(run) for run in backlog.running] == [running]
    assert (desk.begun, (await known_run(store, "r-2")).state) == ([], RunState.QUEUED)


async def test_outside_the_context_nothing_is_started(store: Store, lease: Lease) -> None:
    desk = Desk(lease)
    with store.starting(desk.starter):
        pass
    await accepted(store, "m-1", "r-1")
    assert (desk.begun, (await known_run(store, "r-1")).state) == ([], RunState.QUEUED)
    assert [run.key for run in await store.claim_runs(lease, everything)] == [MAIN]


async def test_a_change_that_queues_a_run_answers_the_session_as_it_is_then(
    store: Store, lease: Lease
) -> None:
    desk = Desk(lease)
    await opened(store)
    with store.starting(desk.starter):
        after = await store.change_session(MAIN, always(QueueRun(run=builders.run("r-1"))))
    assert after == await known(store)
