"""Jobs: kept across restarts, taken up once each time they are due, with the work in the same transaction."""

from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import pytest

from roost.core import children, finishing, occasions
from roost.core.effects import (
    AcknowledgeCompletion,
    DeleteSession,
    Effects,
    EndRun,
    KillInput,
    OweCompletion,
    SettleCompletion,
)
from roost.core.endings import Ending
from roost.core.errors import Fenced
from roost.core.exchanges import CompletionStatus
from roost.core.firings import Firing, FiringState, PutFiring
from roost.core.inputs import entries_of
from roost.core.jobs import Announce, Fired, Job, JobPlace, Occasion, Overlap, SystemEvent
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.messages import UserMessage, text_of
from roost.core.retention import Cutoffs
from roost.core.runs import Outcome, RunState
from roost.core.schedules import At
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.sources import cron_key
from roost.ports import Store, Topic, TopicKind
from roost.testing.builders import MAIN, accept, inbound
from roost.testing.clock import NOON, FakeClock
from tests import samples
from tests.contract.homes import Home, Reopen
from tests.contract.scenes import always, claim_of, everything, known, known_run, opened, reset
from tests.jobs import STEP, at_home, job, moment

OWN = cron_key("main", "j1")


async def keep(store: Store, one: Job) -> Job:
    kept = await store.change_job(one.id, lambda known: one)
    assert kept == one
    return one


async def fire(store: Store, lease: Lease, one: Job, now: int = NOON, **changes: object) -> Job | None:
    decide = partial(occasions.fire, moment=moment(now, session_id=f"{one.id} {now}", **changes))
    return await store.fire_job(lease, one, at_home(one), decide)


async def finish(store: Store, lease: Lease, said: str | None = "sunny", now: int = NOON) -> None:
    """Play the one run that waits."""
    (run,) = await store.claim_runs(lease, everything)
    claim = claim_of(run)
    await store.take_inputs(claim, entries_of)
    state = RunState.DONE if said else RunState.FAILED
    ending = Ending(
        outcome=Outcome(state=state, at=now, error=None if said else "no"), announce=no, reply=said
    )

    def advance(snapshot: RunSnapshot) -> Effects:
        return finishing.finish(snapshot, ending)

    await store.finish_run(claim, advance)


def no(*_: object) -> str:
    raise AssertionError("nobody is announced here")


async def history(store: Store, job_id: str = "j1") -> tuple[Firing, ...]:
    return (await store.firings(job_id, limit=10)).rows


async def test_jobs_are_kept_changed_and_removed(store: Store, reopen: Reopen) -> None:
    first, second = await keep(store, job()), await keep(store, job("j2", next_at=None))
    store = await reopen()
    assert await store.jobs() == (first, second)
    assert await store.job("j1") == first
    later = replace(first, next_at=NOON + 5)
    assert await store.change_job("j1", lambda known: later) == later
    assert await store.next_due_job() == NOON + 5
    assert await store.change_job("j1", lambda known: None) is None
    assert await store.change_job("j1", lambda known: None) is None
    assert await store.jobs() == (second,)
    assert await store.next_due_job() is None


async def test_what_is_due_is_found_the_longest_waiting_first(store: Store) -> None:
    one = await keep(store, job("a", next_at=NOON))
    two = await keep(store, job("b", next_at=NOON - 1))
    await keep(store, job("c", next_at=NOON + 1))
    await keep(store, job("d", next_at=None))
    assert await store.due_jobs(NOON, 10) == (two, one)
    assert await store.due_jobs(NOON, 1) == (two,)


@pytest.mark.requirement("D04")
@pytest.mark.requirement("D45")
async def test_each_time_has_a_session_id_of_its_own_under_the_key_of_the_job(
    store: Store, lease: Lease, clock: FakeClock
) -> None:
    one = await keep(store, job())
    ids = []
    for turn in range(3):
        clock.advance(STEP)
        now = NOON + turn * STEP
        after = await fire(store, lease, one, now)
        assert after is not None
        assert after.next_at == now + STEP
        await finish(store, lease, now=now)
        ids.append((await known(store, OWN)).session_id)
        one = after
    assert len(set(ids)) == 3
    assert str(OWN) == "agent:main:cron:j1"
    assert [one.session_id for one in reversed(await history(store))] == ids


async def test_a_time_is_taken_up_once_whoever_else_saw_it(store: Store, lease: Lease) -> None:
    one = await keep(store, job())
    assert await fire(store, lease, one) is not None
    assert await fire(store, lease, one) is None
    assert await store.count_firings("j1") == 1
    assert len(await store.active_runs(OWN)) == 1


async def test_a_job_that_was_changed_or_removed_since_is_left(store: Store, lease: Lease) -> None:
    one = await keep(store, job())
    await keep(store, replace(one, revision=2))
    assert await fire(store, lease, one) is None
    await store.change_job("j1", lambda known: None)
    assert await fire(store, lease, replace(one, revision=2)) is None
    assert await history(store) == ()


async def test_two_gateways_that_see_it_together_take_it_up_once(shared: Home) -> None:
    store, other = shared.store, await shared.beside()
    lease = await other.acquire_lease(Gateway(name="second", holder="process-2"))
    jobs = [await keep(store, job(f"j{number}")) for number in range(10)]
    won: list[Job | None] = []

    async def take(where: Store, mine: Lease, one: Job) -> None:
        won.append(await fire(where, mine, one))

    async with anyio.create_task_group() as group:
        for one in jobs:
            group.start_soon(take, store, shared.lease, one)
            group.start_soon(take, other, lease, one)
    assert sum(one is not None for one in won) == 10
    for one in jobs:
        assert await store.count_firings(one.id) == 1


async def test_a_gateway_without_its_lease_takes_up_nothing(store: Store, lease: Lease) -> None:
    one = await keep(store, job())
    with pytest.raises(Fenced):
        await fire(store, replace(lease, epoch=lease.epoch + 1), one)
    assert await store.job("j1") == one
    assert await history(store) == ()


async def test_a_decision_that_breaks_leaves_the_job_due(store: Store, lease: Lease) -> None:
    one = await keep(store, job())

    def broken(occasion: Occasion) -> Fired:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await store.fire_job(lease, one, at_home(one), broken)
    assert await store.due_jobs(NOON, 1) == (one,)


async def test_how_a_time_came_out_is_written_with_the_end_of_its_run(
    store: Store, lease: Lease, clock: FakeClock
) -> None:
    one = await keep(store, job())
    await fire(store, lease, one)
    assert [row.state for row in await history(store)] == [FiringState.STARTED]
    await finish(store, lease)
    (row,) = await history(store)
    assert (row.state, row.summary, row.ended_at) == (FiringState.OK, "sunny", NOON)
    clock.advance(STEP)
    second = await store.job("j1")
    assert second is not None
    await fire(store, lease, second, NOON + STEP)
    await finish(store, lease, None)
    assert [(row.state, row.error) for row in await history(store)] == [
        (FiringState.ERROR, "no"),
        (FiringState.OK, None),
    ]


async def test_what_was_said_is_posted_into_the_session_it_is_for(store: Store, lease: Lease) -> None:
    await opened(store)
    before = await known(store)
    await fire(store, lease, await keep(store, job(telling=Announce())))
    await finish(store, lease)
    after = await known(store)
    (entry,) = await store.entries(after.session_id)
    assert isinstance(entry.body, UserMessage)
    assert (text_of(entry.body), entry.body.provenance.source_session) == ("sunny", str(OWN))
    assert (after.route, after.origin, after.times.interacted) == (
        before.route,
        before.origin,
        before.times.interacted,
    )
    assert await store.active_runs(MAIN) == ()


async def test_a_time_of_a_run_that_was_ended_before_it_began_is_not_waited_for(
    store: Store, lease: Lease
) -> None:
    one = await keep(store, job(overlap=Overlap.WAIT))
    after = await fire(store, lease, one)
    assert after is not None
    assert await fire(store, lease, after, NOON + STEP) == after
    (run,) = await store.active_runs(OWN)
    await end(store, run.id)
    (row,) = await history(store)
    assert (row.state, row.error) == (FiringState.ERROR, "stopped")
    again = await fire(store, lease, after, NOON + STEP)
    assert again is not None
    assert again.next_at == NOON + 2 * STEP
    assert [row.state for row in await history(store)] == [FiringState.STARTED, FiringState.ERROR]


@pytest.mark.parametrize("stopped", [True, False])
async def test_a_job_that_waits_for_its_children_has_not_ended(
    store: Store, lease: Lease, stopped: bool
) -> None:
    after = await fire(store, lease, await keep(store, job()))
    (run,) = await store.claim_runs(lease, everything)
    await store.take_inputs(claim_of(run), entries_of)
    outcome = Outcome(state=RunState.DONE, at=NOON, yielded=True)
    owed = samples.completion("c1", requester=OWN, batch=run.id)
    yielded = (EndRun(run_id=run.id, outcome=outcome), OweCompletion(completion=owed))
    await store.finish_run(claim_of(run), lambda snapshot: yielded)
    assert [row.state for row in await history(store)] == [FiringState.STARTED]
    assert after is not None
    after = await fire(store, lease, after, NOON + STEP)
    told = [(row.state, row.error) for row in await history(store)]
    assert told == [(FiringState.SKIPPED, "the last one has not ended"), (FiringState.STARTED, None)]
    settled = (
        SettleCompletion(child_run="c1", status=CompletionStatus.OK, at=NOON),
        AcknowledgeCompletion(child_run="c1", at=NOON),
    )
    goes_on = () if stopped else children.go_on(run, (owed,), NOON)
    await store.change_session(OWN, lambda snapshot: (*settled, *goes_on))
    assert after is not None
    await fire(store, lease, after, NOON + 2 * STEP)
    expected = [FiringState.STARTED, FiringState.SKIPPED, FiringState.ERROR]
    waiting = [FiringState.SKIPPED, FiringState.SKIPPED, FiringState.STARTED]
    assert [row.state for row in await history(store)] == (expected if stopped else waiting)


async def end(store: Store, run_id: str) -> None:
    run = await known_run(store, run_id)

    def decide(snapshot: Snapshot) -> Effects:
        outcome = Outcome(state=RunState.KILLED, at=NOON, error="stopped")
        killed = (KillInput(inbound_id=one.inbound.id, reason="stopped") for one in snapshot.pending)
        return (EndRun(run_id=run.id, outcome=outcome), *killed)

    await store.change_session(run.key, decide)


async def test_a_job_that_forgets_is_gone_when_it_went_well(store: Store, lease: Lease) -> None:
    once: dict[str, Any] = {"schedule": At(at=NOON), "forget": True}
    await fire(store, lease, await keep(store, job(**once)))
    assert await store.job("j1") is not None
    await finish(store, lease)
    assert await store.job("j1") is None
    assert [row.state for row in await history(store)] == [FiringState.OK]
    await fire(store, lease, await keep(store, job("j2", **once)))
    await finish(store, lease, None)
    assert await store.job("j2") is not None


async def test_a_job_that_forgets_is_gone_at_once_where_nothing_runs(store: Store, lease: Lease) -> None:
    event = SystemEvent(text="the kettle boils")
    once = job(schedule=At(at=NOON), forget=True, work=event, place=JobPlace.MAIN)
    await fire(store, lease, await keep(store, once))
    assert await store.job("j1") is None
    assert [row.state for row in await history(store)] == [FiringState.OK]


async def test_an_event_waits_for_the_next_turn_and_changes_nothing_else(store: Store, lease: Lease) -> None:
    await opened(store)
    before = await known(store)
    one = job(work=SystemEvent(text="the kettle boils"), place=JobPlace.MAIN)
    await fire(store, lease, await keep(store, one), NOON + 5)
    after = await known(store)
    assert after.times == before.times._replace(updated=NOON + 5)
    assert (after.status, after.route, after.origin) == (before.status, before.route, before.origin)
    assert await store.active_runs(MAIN) == ()
    assert [one.state for one in await history(store)] == [FiringState.OK]
    await store.accept_inbound(inbound("m1", text="hello"), accept(inbound("m1", text="hello"), "r1", "g"))
    (run,) = await store.claim_runs(lease, everything)
    entries = await store.take_inputs(claim_of(run), entries_of)
    assert [text_of(e.body) for e in entries if isinstance(e.body, UserMessage)] == [
        "the kettle boils",
        "hello",
    ]
    assert await store.pending_inputs(MAIN) == ()


async def test_a_session_in_which_only_events_wait_can_be_deleted(store: Store, lease: Lease) -> None:
    one = job(
        work=SystemEvent(text="the kettle boils"), place=JobPlace.SESSION, key=SessionKey.named("main", "k")
    )
    await fire(store, lease, await keep(store, one))
    key = SessionKey.named("main", "k")
    (waiting,) = await store.pending_inputs(key)
    await store.change_session(key, lambda snapshot: (DeleteSession(key=key),))
    assert await store.session(key) is None
    record = await store.inbound(waiting.inbound.id)
    assert record is not None
    assert record.state == "dead"


async def test_old_times_are_removed_and_those_without_an_end_are_kept(store: Store, lease: Lease) -> None:
    await opened(store)
    old = Firing(id="f1", job_id="j1", due_at=NOON, at=NOON, state=FiringState.OK, key=MAIN)
    rows = (old, replace(old, id="f2", state=FiringState.STARTED), replace(old, id="f3", at=NOON + 10))
    await store.change_session(MAIN, lambda snapshot: tuple(PutFiring(firing=one) for one in rows))
    cutoffs = Cutoffs(records_before=NOON + 5)
    assert (await store.sweep(cutoffs, dry_run=True)).records == 1
    assert (await store.sweep(cutoffs)).records == 1
    assert {one.id for one in await history(store)} == {"f2", "f3"}


async def test_closed_generations_of_timers_go_after_their_own_time(
    store: Store, lease: Lease, clock: FakeClock
) -> None:
    await opened(store)
    await reset(store, 2)
    one = await keep(store, job())
    for turn in range(3):
        after = await fire(store, lease, one, NOON + turn * STEP)
        assert after is not None
        one = after
        await finish(store, lease, now=NOON + turn * STEP)
        clock.advance(STEP)
    cutoffs = Cutoffs(cron_before=NOON + 2 * STEP)
    assert (await store.sweep(cutoffs, dry_run=True)).generations == 1
    assert (await store.sweep(cutoffs)).generations == 1
    assert [row.number for row in await store.generations(OWN)] == [2, 3]
    assert len(await store.generations(MAIN)) == 2


async def test_the_history_is_read_in_pages_newest_first(store: Store) -> None:
    await opened(store)
    row = Firing(id="", job_id="j1", due_at=NOON, at=NOON, state=FiringState.OK, key=MAIN)
    rows = [replace(row, id=f"f{number}", at=NOON + number) for number in range(5)]
    await store.change_session(MAIN, lambda snapshot: tuple(PutFiring(firing=one) for one in rows))
    page = await store.firings("j1", limit=2, offset=1)
    assert ([one.id for one in page.rows], page.more) == (["f3", "f2"], True)
    assert not (await store.firings("j1", limit=5)).more
    assert await store.count_firings("j1") == 5
    others = (
        replace(row, id="g", job_id="j2", at=NOON + 9),
        replace(row, id="beat", job_id="heartbeat-main", key=MAIN.beat),
    )
    await store.change_session(MAIN, lambda snapshot: tuple(PutFiring(firing=one) for one in others))
    every = await store.firings(None, limit=2)
    assert ([one.id for one in every.rows], every.more) == (["g", "f4"], True)
    assert await store.count_firings(None) == 6


async def test_who_waits_for_jobs_hears_of_a_change(store: Store) -> None:
    heard: list[int] = []
    looked = anyio.Event()

    async def look() -> bool | None:
        heard.append(len(await store.jobs()))
        looked.set()
        return True if heard[-1] else None

    async with anyio.create_task_group() as group:
        group.start_soon(store.wait_for, Topic(TopicKind.JOBS), look)
        with anyio.fail_after(60):
            await looked.wait()
        await keep(store, job())
    assert heard == [0, 1]


async def test_a_firing_that_is_written_again_is_of_the_job_and_the_session_it_names_now(
    store: Store,
) -> None:
    await opened(store)
    first = Firing(id="f", job_id="j1", due_at=1, at=1, state=FiringState.STARTED, key=MAIN.beat)
    again = replace(first, job_id="j2", key=MAIN, at=2)
    await store.change_session(MAIN, always(PutFiring(firing=first), PutFiring(firing=again)))
    assert (await history(store), await history(store, "j2")) == ((), (again,))
    assert await store.count_firings(None) == 1
