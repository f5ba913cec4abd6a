"""Runs: ready in order, one at a time a session, ended once with all that follows."""

from dataclasses import replace

import anyio
import pytest

from roost.core.effects import AddDelivery, AppendEntries, DelayRun, Effect, Effects, MoveInput, QueueRun
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.events import EventKind
from roost.core.inbound import InputMode
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.runs import Claim, Lane, Outcome, Progress, Request, Run, RunKind, RunState, Step, StepKind
from roost.core.sessions import SessionStatus
from roost.core.snapshots import RunSnapshot
from roost.core.turntaking import Backlog
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import Reopen
from tests.contract.scenes import (
    MindChangedError,
    Seen,
    accepted,
    change,
    claim_of,
    everything,
    joined,
    known,
    known_inbound,
    known_run,
    opened,
    queued,
    started,
)

SIDE = SessionKey.named("main", "side")
CHILD = SessionKey.parse("agent:main:subagent:one")
OTHER = SessionKey.parse("agent:main:subagent:two")


# -- claiming ----------------------------------------------------------------------------------------


async def test_a_run_that_is_not_there_is_none(store: Store) -> None:
    assert await store.run("r-1") is None


async def test_the_active_runs_of_a_session_are_those_that_have_not_ended(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    await queued(store, "r-2")
    await opened(store, SIDE)
    await queued(store, "r-3", SIDE)
    assert [(run.id, run.state) for run in await store.active_runs(MAIN)] == [
        ("r-1", RunState.RUNNING),
        ("r-2", RunState.QUEUED),
    ]
    await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))
    assert [run.id for run in await store.active_runs(MAIN)] == ["r-2"]
    assert await store.active_runs(CHILD) == ()


async def test_a_queued_run_reads_back_as_it_was_asked_for(store: Store, reopen: Reopen) -> None:
    await opened(store)
    request = Request(
        kind=RunKind.EXCHANGE, requester=SIDE, deadline=5, model="demo/x", prompt="go on", completes="c-1"
    )
    run = builders.run("r-1", request=request)
    await change(store, QueueRun(run=run))
    store = await reopen()
    assert await store.run("r-1") == run
    assert (await known(store)).status is SessionStatus.QUEUED


async def test_a_run_id_is_given_once(store: Store) -> None:
    await opened(store)
    await queued(store, "r-1")
    with pytest.raises(Conflict):
        await queued(store, "r-1")


async def test_a_claimed_run_is_running_under_a_raised_fence(
    store: Store, lease: Lease, clock: FakeClock
) -> None:
    session = await opened(store)
    await queued(store, "r-1")
    clock.advance(5)
    (run,) = await store.claim_runs(lease, everything)
    assert run == replace(
        builders.run("r-1"),
        state=RunState.RUNNING,
        started_at=NOON + 5,
        session_id=session.session_id,
        fence=1,
        claim=Claim(id="r-1", gateway="first", epoch=lease.epoch, fence=1),
    )
    assert await store.run("r-1") == run
    assert (await known(store)).status is SessionStatus.RUNNING
    last = (await store.events(MAIN, after=0, limit=10))[-1]
    assert (last.kind, last.ref) == (EventKind.RUN_STARTED, "r-1")


async def test_ready_runs_come_oldest_first_one_a_session(store: Store, lease: Lease) -> None:
    look: Seen[Backlog, tuple[str, ...]] = Seen(())
    for key, run_id in ((SIDE, "s-1"), (MAIN, "m-1"), (SIDE, "s-2"), (CHILD, "c-1"), (MAIN, "m-2")):
        if await store.session(key) is None:
            await opened(store, key)
        await queued(store, run_id, key)
    assert await store.claim_runs(lease, look) == ()
    assert [run.id for run in look.last.ready] == ["s-1", "m-1", "c-1"]
    assert look.last.running == ()
    assert {(await known_run(store, name)).state for name in ("s-1", "m-1", "c-1")} == {RunState.QUEUED}


async def test_a_session_with_a_running_run_has_none_ready(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    await queued(store, "r-2")
    await opened(store, SIDE)
    await queued(store, "r-3", SIDE)
    look: Seen[Backlog, tuple[str, ...]] = Seen(())
    await store.claim_runs(lease, look)
    assert [run.id for run in look.last.ready] == ["r-3"]
    assert [run.id for run in look.last.running] == ["r-1"]
    await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))
    assert [run.id for run in await store.claim_runs(lease, everything)] == ["r-2", "r-3"]


async def test_only_what_was_chosen_is_started(store: Store, lease: Lease) -> None:
    for key, run_id in ((MAIN, "r-1"), (SIDE, "r-2"), (CHILD, "r-3")):
        await opened(store, key)
        await queued(store, run_id, key)
    claimed = await store.claim_runs(lease, lambda backlog: ("r-3", "r-1"))
    assert [run.id for run in claimed] == ["r-3", "r-1"]
    assert (await known_run(store, "r-2")).state is RunState.QUEUED


async def test_what_was_chosen_twice_is_started_once(store: Store, lease: Lease) -> None:
    await opened(store)
    await queued(store, "r-1")
    (run,) = await store.claim_runs(lease, lambda backlog: ("r-1", "r-1"))
    assert run.fence == 1
    assert await store.run("r-1") == run


async def test_a_choice_of_what_is_not_ready_is_refused(store: Store, lease: Lease) -> None:
    await opened(store)
    await queued(store, "r-1")
    await queued(store, "r-2")
    for chosen in (("r-2",), ("r-1", "nowhere")):
        choice: Seen[Backlog, tuple[str, ...]] = Seen(chosen)
        with pytest.raises(InvalidInput):
            await store.claim_runs(lease, choice)
    assert (await known_run(store, "r-1")).state is RunState.QUEUED


async def test_a_choice_that_raises_starts_nothing(store: Store, lease: Lease) -> None:
    await opened(store)
    await queued(store, "r-1")
    before = await known(store)

    def choose(backlog: Backlog) -> tuple[str, ...]:
        raise MindChangedError("no")

    with pytest.raises(MindChangedError):
        await store.claim_runs(lease, choose)
    assert await known(store) == before
    assert (await known_run(store, "r-1")).state is RunState.QUEUED


async def test_a_run_is_ready_from_its_moment_on_and_holds_back_what_was_queued_after_it(
    store: Store, lease: Lease, clock: FakeClock
) -> None:
    await opened(store)
    await change(store, QueueRun(run=builders.run("r-1", ready_at=NOON + 100)))
    await queued(store, "r-2")
    clock.advance(99)
    assert await store.claim_runs(lease, everything) == ()
    clock.advance(1)
    assert [run.id for run in await store.claim_runs(lease, everything)] == ["r-1"]


async def test_the_moment_of_a_queued_run_can_be_moved(store: Store, lease: Lease, clock: FakeClock) -> None:
    await opened(store)
    await queued(store, "r-1")
    await change(store, DelayRun(run_id="r-1", ready_at=NOON + 500))
    assert await store.claim_runs(lease, everything) == ()
    clock.advance(500)
    (run,) = await store.claim_runs(lease, everything)
    assert run.ready_at == NOON + 500
    with pytest.raises(NotFound):
        await change(store, DelayRun(run_id="nowhere", ready_at=0))


@pytest.mark.requirement("P23")
async def test_one_asker_does_not_fill_the_window_of_ready_runs(store: Store, lease: Lease) -> None:
    await opened(store)
    many = [SessionKey.parse(f"agent:main:subagent:m{number:02}") for number in range(40)]
    for key in many:
        await opened(store, row=builders.session(key, parent=MAIN))
        run = builders.run(f"run of {key.name}", key, request=Request(requester=MAIN))
        await change(store, QueueRun(run=run), key=key)
    await opened(store, SIDE)
    await queued(store, "r-late", SIDE)
    look: Seen[Backlog, tuple[str, ...]] = Seen(())
    await store.claim_runs(lease, look)
    ready = [run.id for run in look.last.ready]
    assert ready[-1] == "r-late"
    assert 1 < len(ready) < 40
    assert ready[:-1] == [f"run of {key.name}" for key in many[: len(ready) - 1]]


@pytest.mark.requirement("P23")
async def test_one_lane_does_not_fill_the_window_of_ready_runs(store: Store, lease: Lease) -> None:
    effects: list[Effect] = []
    for number in range(600):
        key = SessionKey.parse(f"agent:main:cron:job{number}")
        run = builders.run(f"r-{number}", key, request=Request(lane=Lane.CRON))
        effects += [builders.opening(builders.session(key), f"s of {key}"), QueueRun(run=run)]
    await change(store, *effects, builders.opening(builders.session(), "s-1"))
    await queued(store, "r-late")
    look: Seen[Backlog, tuple[str, ...]] = Seen(())
    await store.claim_runs(lease, look)
    ready = [run.id for run in look.last.ready]
    assert ready[-1] == "r-late"
    assert ready[:-1] == [f"r-{number}" for number in range(len(ready) - 1)]
    assert len(ready) < 600


@pytest.mark.requirement("P4")
async def test_claims_that_meet_never_start_a_run_twice(store: Store, lease: Lease) -> None:
    for number in range(10):
        key = SessionKey.named("main", f"room {number}")
        await opened(store, key)
        await queued(store, f"a-{number}", key)
        await queued(store, f"b-{number}", key)
    claimed: list[Run] = []

    async def claim() -> None:
        claimed.extend(await store.claim_runs(lease, everything))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(claim)
    assert sorted(run.id for run in claimed) == [f"a-{number}" for number in range(10)]


# -- running -----------------------------------------------------------------------------------------


async def test_a_step_is_recorded_and_calls_to_the_model_are_counted(
    store: Store, lease: Lease, reopen: Reopen
) -> None:
    claim = await started(store, lease, "r-1")
    tool = Step(kind=StepKind.TOOL, at=NOON, tool="exec", call_id="c-1", reenterable=True)
    await store.begin_step(claim, Step(kind=StepKind.MODEL, at=NOON))
    await store.begin_step(claim, tool)
    await store.begin_step(claim, Step(kind=StepKind.MODEL, at=NOON + 1))
    await store.begin_step(claim, tool)
    store = await reopen()
    assert (await known_run(store, "r-1")).progress == Progress(step=tool, model_calls=2)


@pytest.mark.requirement("P10")
async def test_the_result_of_the_call_a_run_has_begun_marks_its_step_as_done(
    store: Store, lease: Lease, reopen: Reopen
) -> None:
    claim = await started(store, lease, "r-1")
    tool = Step(kind=StepKind.TOOL, at=NOON, tool="exec", call_id="c-1")
    await store.begin_step(claim, tool)
    await store.append(MAIN, (builders.returned("e-1", "another", "exec", "ok"),), claim=claim)
    assert (await known_run(store, "r-1")).progress.step == tool
    await store.append(MAIN, (builders.returned("e-2", "c-1", "exec", "ok"),), claim=claim)
    store = await reopen()
    assert (await known_run(store, "r-1")).progress.step == replace(tool, done=True)


# -- the end -----------------------------------------------------------------------------------------


@pytest.mark.requirement("P1")
async def test_a_run_ends_with_everything_that_follows_in_one_transaction(
    store: Store, lease: Lease, reopen: Reopen
) -> None:
    await opened(store, CHILD)
    claim = await started(store, lease, "r-1")
    outcome = Outcome(
        state=RunState.DONE, at=NOON, model="demo/demo-1", model_reason="asked for", yielded=True
    )
    ended = await store.finish_run(
        claim,
        lambda snapshot: (
            AppendEntries(key=MAIN, drafts=(builders.answered("e-1", "the answer"),)),
            replace(builders.done("r-1"), outcome=outcome),
            AddDelivery(delivery=builders.delivery("d-1")),
            QueueRun(run=builders.run("r-2", CHILD)),
        ),
    )
    store = await reopen()
    assert ended == await store.run("r-1")
    assert (ended.state, ended.outcome, ended.claim) == (RunState.DONE, outcome, None)
    assert ended.fence > claim.fence
    session = await known(store)
    assert session.status is SessionStatus.DONE
    assert [entry.id for entry in await store.entries(session.session_id)] == ["e-1"]
    assert await store.delivery("d-1") is not None
    assert (await known_run(store, "r-2")).state is RunState.QUEUED


@pytest.mark.parametrize("state", [state for state in RunState if state.ended])
async def test_a_session_shows_how_its_run_ended(store: Store, lease: Lease, state: RunState) -> None:
    claim = await started(store, lease, "r-1")
    run = await store.finish_run(claim, lambda snapshot: (builders.done("r-1", state=state),))
    assert run.state is state
    assert (await known(store)).status == SessionStatus(state)


async def test_a_session_with_a_run_left_in_its_queue_shows_queued(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    await queued(store, "r-2")
    await queued(store, "r-3")
    assert (await known(store)).status is SessionStatus.RUNNING
    await change(store, builders.done("r-3", state=RunState.KILLED))
    assert (await known(store)).status is SessionStatus.RUNNING
    await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))
    assert (await known(store)).status is SessionStatus.QUEUED
    await change(store, builders.done("r-2", state=RunState.KILLED))
    assert (await known(store)).status is SessionStatus.KILLED


async def test_a_decision_on_an_end_that_does_not_end_the_run_is_refused(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    before = await known(store)
    with pytest.raises(InvalidInput):
        await store.finish_run(
            claim, lambda snapshot: (AppendEntries(key=MAIN, drafts=(builders.said("e-1", "x"),)),)
        )
    assert await known(store) == before
    assert (await known_run(store, "r-1")).claim == claim


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING])
async def test_a_run_cannot_end_as_something_that_is_no_end(
    store: Store, lease: Lease, state: RunState
) -> None:
    claim = await started(store, lease, "r-1")
    with pytest.raises(InvalidInput):
        await store.finish_run(claim, lambda snapshot: (builders.done("r-1", state=state),))


@pytest.mark.requirement("P3")
async def test_an_end_that_would_strand_a_message_is_refused(store: Store, lease: Lease) -> None:
    await accepted(store, "m-1", "r-1")
    (run,) = await store.claim_runs(lease, everything)
    await joined(store, "m-2", "r-1", InputMode.STEER)
    before = await known(store)
    with pytest.raises(InvalidInput):
        await store.finish_run(claim_of(run), lambda snapshot: (builders.done("r-1"),))
    assert await known(store) == before
    assert await store.run("r-1") == run

    def hand_over(snapshot: RunSnapshot) -> Effects:
        moved = (
            MoveInput(inbound_id=record.inbound.id, run_id="r-2", mode=InputMode.OPEN)
            for record in snapshot.session.pending
        )
        return (builders.done("r-1"), QueueRun(run=builders.run("r-2")), *moved)

    await store.finish_run(claim_of(run), hand_over)
    assert [(await known_inbound(store, name)).run_id for name in ("m-1", "m-2")] == ["r-2", "r-2"]


async def test_a_queued_run_can_be_ended_before_it_started(store: Store, lease: Lease) -> None:
    await opened(store)
    await queued(store, "r-1")
    await change(store, builders.done("r-1", state=RunState.KILLED))
    assert (await known_run(store, "r-1")).state is RunState.KILLED
    assert await store.claim_runs(lease, everything) == ()


async def test_a_run_ends_once(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    ended = await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))
    with pytest.raises(Conflict):
        await change(store, builders.done("r-1", state=RunState.FAILED))
    assert await store.run("r-1") == ended
    with pytest.raises(NotFound):
        await change(store, builders.done("nowhere"))
