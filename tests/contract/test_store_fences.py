"""Claims and recovery: whoever lost a run can no longer write for it, and every orphan gets one fate."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from roost.core.deliveries import Confirmed
from roost.core.effects import (
    AddDelivery,
    DeleteSession,
    DiscardSession,
    Effects,
    KillInput,
    RequeueRun,
)
from roost.core.errors import Conflict, Fenced, InvalidInput
from roost.core.keys import SessionKey
from roost.core.leases import LEASE_MS, Gateway, Lease
from roost.core.runs import Claim, Progress, RunState, Step, StepKind
from roost.core.sessions import SessionStatus
from roost.core.snapshots import RunSnapshot
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import FIRST, Home
from tests.contract.scenes import (
    accepted,
    as_entries,
    change,
    claim_of,
    everything,
    known,
    known_run,
    opened,
    queued,
    reset,
    started,
)

SIDE = SessionKey.named("main", "side")
SECOND = Gateway(name="second", holder="process-2")


def requeue(snapshot: RunSnapshot) -> Effects:
    progress = replace(snapshot.run.progress, recoveries=snapshot.run.progress.recoveries + 1)
    return (RequeueRun(run_id=snapshot.run.id, ready_at=NOON, progress=progress),)


def interrupt(snapshot: RunSnapshot) -> Effects:
    return (builders.done(snapshot.run.id, state=RunState.INTERRUPTED),)


# -- what a claim allows -----------------------------------------------------------------------------

Use = Callable[[Store, Claim], Awaitable[object]]


async def use_append(store: Store, claim: Claim) -> object:
    return await store.append(MAIN, (builders.said("late", "too late"),), claim=claim)


async def use_take_inputs(store: Store, claim: Claim) -> object:
    return await store.take_inputs(claim, as_entries)


async def use_begin_step(store: Store, claim: Claim) -> None:
    await store.begin_step(claim, Step(kind=StepKind.MODEL, at=NOON))


async def use_finish_run(store: Store, claim: Claim) -> object:
    return await store.finish_run(claim, lambda snapshot: (builders.done(claim.id),))


USES = (use_append, use_take_inputs, use_begin_step, use_finish_run)

Loss = Callable[[Home, FakeClock, Claim], Awaitable[None]]


async def lost_to_its_end(home: Home, clock: FakeClock, claim: Claim) -> None:
    await change(home.store, builders.done(claim.id, state=RunState.KILLED))


async def lost_to_a_requeue(home: Home, clock: FakeClock, claim: Claim) -> None:
    await change(home.store, RequeueRun(run_id=claim.id, ready_at=NOON, progress=Progress()))


async def lost_to_a_later_claim(home: Home, clock: FakeClock, claim: Claim) -> None:
    await change(home.store, RequeueRun(run_id=claim.id, ready_at=NOON, progress=Progress()))
    await home.store.claim_runs(home.lease, everything)


async def lost_to_a_new_epoch(home: Home, clock: FakeClock, claim: Claim) -> None:
    await home.store.acquire_lease(replace(FIRST, holder="process-2"))


async def lost_to_a_new_epoch_of_the_same_process(home: Home, clock: FakeClock, claim: Claim) -> None:
    await home.store.acquire_lease(FIRST)


async def lost_with_the_lease(home: Home, clock: FakeClock, claim: Claim) -> None:
    clock.advance(LEASE_MS)


async def lost_by_release(home: Home, clock: FakeClock, claim: Claim) -> None:
    await home.store.release_lease(home.lease)


async def lost_to_another_gateway(home: Home, clock: FakeClock, claim: Claim) -> None:
    clock.advance(LEASE_MS)
    await home.store.acquire_lease(SECOND)


async def lost_to_a_reaper(home: Home, clock: FakeClock, claim: Claim) -> None:
    clock.advance(LEASE_MS)
    lease = await home.store.acquire_lease(SECOND)
    await home.store.reap_runs(lease, requeue)


async def lost_with_the_session(home: Home, clock: FakeClock, claim: Claim) -> None:
    await change(home.store, builders.done(claim.id, state=RunState.KILLED), DeleteSession(key=MAIN))


LOSSES = (
    lost_to_its_end,
    lost_to_a_requeue,
    lost_to_a_later_claim,
    lost_to_a_new_epoch,
    lost_to_a_new_epoch_of_the_same_process,
    lost_with_the_lease,
    lost_by_release,
    lost_to_another_gateway,
    lost_to_a_reaper,
    lost_with_the_session,
)


@pytest.mark.requirement("P30")
@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
async def test_a_claim_that_was_lost_writes_nothing(
    home: Home, clock: FakeClock, loss: Loss, use: Use
) -> None:
    store = home.store
    claim = await started(store, home.lease, "r-1")
    await loss(home, clock, claim)
    run, session = await store.run("r-1"), await store.session(MAIN)
    with pytest.raises(Fenced):
        await use(store, claim)
    assert await store.run("r-1") == run
    assert await store.session(MAIN) == session


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
@pytest.mark.parametrize(
    "forge",
    [
        lambda claim: replace(claim, fence=claim.fence + 1),
        lambda claim: replace(claim, epoch=claim.epoch + 1),
        lambda claim: replace(claim, gateway="second"),
        lambda claim: replace(claim, id="r-9"),
    ],
    ids=["fence", "epoch", "gateway", "run"],
)
async def test_a_claim_that_was_never_given_writes_nothing(
    store: Store, lease: Lease, forge: Callable[[Claim], Claim], use: Use
) -> None:
    claim = await started(store, lease, "r-1")
    with pytest.raises(Fenced):
        await use(store, forge(claim))
    await use(store, claim)


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
async def test_a_claim_outlives_its_lease_being_renewed(home: Home, clock: FakeClock, use: Use) -> None:
    claim = await started(home.store, home.lease, "r-1")
    clock.advance(LEASE_MS - 1)
    await home.store.renew_lease(home.lease)
    clock.advance(LEASE_MS - 1)
    await use(home.store, claim)


async def test_a_run_whose_session_was_reset_under_it_says_nothing_more_but_ends(
    store: Store, lease: Lease
) -> None:
    await accepted(store, "m-1", "r-1")
    (run,) = await store.claim_runs(lease, everything)
    claim = claim_of(run)
    await reset(store, 2)
    before = await known(store)
    for use in (use_append, use_take_inputs):
        with pytest.raises(Fenced):
            await use(store, claim)
    assert await known(store) == before
    await use_begin_step(store, claim)
    dead = KillInput(inbound_id="m-1", reason="reset")
    ended = await store.finish_run(claim, lambda snapshot: (dead, builders.done("r-1")))
    assert ended.state is RunState.DONE


async def test_a_run_that_begins_again_after_a_reset_says_nothing_either(home: Home) -> None:
    store = home.store
    await started(store, home.lease, "r-1")
    lease = await store.acquire_lease(FIRST)
    await store.reap_runs(lease, requeue)
    await reset(store, 2)
    (again,) = await store.claim_runs(lease, everything)
    with pytest.raises(Fenced):
        await use_append(store, claim_of(again))
    await use_finish_run(store, claim_of(again))


@pytest.mark.parametrize(
    "loss",
    [lost_to_a_new_epoch, lost_with_the_lease, lost_to_another_gateway, lost_by_release],
    ids=lambda loss: loss.__name__,
)
async def test_a_delivery_that_was_lost_is_not_settled(home: Home, clock: FakeClock, loss: Loss) -> None:
    store = home.store
    await opened(store)
    await change(store, AddDelivery(delivery=builders.delivery("d-1")))
    (sending,) = await store.claim_deliveries(home.lease, 1)
    assert sending.claim is not None
    await loss(home, clock, sending.claim)
    with pytest.raises(Fenced):
        await store.settle_delivery(sending.claim, Confirmed())
    assert await store.delivery("d-1") == sending


# -- what a lease allows -----------------------------------------------------------------------------


@pytest.mark.requirement("P30")
@pytest.mark.parametrize(
    "loss", [lost_to_a_new_epoch, lost_with_the_lease, lost_to_another_gateway, lost_by_release]
)
async def test_a_lease_that_was_lost_starts_and_reaps_nothing(
    home: Home, clock: FakeClock, loss: Loss
) -> None:
    store = home.store
    claim = await started(store, home.lease, "r-1")
    await opened(store, SIDE)
    await queued(store, "r-2", SIDE)
    await change(store, AddDelivery(delivery=builders.delivery("d-1")))
    await loss(home, clock, claim)
    for use in (
        store.claim_runs(home.lease, everything),
        store.reap_runs(home.lease, requeue),
        store.claim_deliveries(home.lease, 1),
        store.reap_deliveries(home.lease),
        store.renew_lease(home.lease),
    ):
        with pytest.raises(Fenced):
            await use
    assert (await known_run(store, "r-2")).state is RunState.QUEUED
    assert (await known_run(store, "r-1")).claim == claim


# -- recovery ----------------------------------------------------------------------------------------


@pytest.mark.requirement("P10")
async def test_every_run_of_a_gateway_that_began_anew_gets_one_fate(home: Home) -> None:
    store = home.store
    keys = [SessionKey.named("main", f"room {number}") for number in range(6)]
    for number, key in enumerate(keys):
        await started(store, home.lease, f"r-{number}", key)
    asked: list[str] = []

    def recover(snapshot: RunSnapshot) -> Effects:
        asked.append(snapshot.run.id)
        odd = int(snapshot.run.id.removeprefix("r-")) % 2
        return requeue(snapshot) if odd else interrupt(snapshot)

    lease = await store.acquire_lease(replace(FIRST, holder="process-2"))
    reaped = await store.reap_runs(lease, recover)
    assert asked == [f"r-{number}" for number in range(6)]
    assert [(run.id, run.state) for run in reaped] == [
        (f"r-{number}", RunState.QUEUED if number % 2 else RunState.INTERRUPTED) for number in range(6)
    ]
    assert [await store.run(run.id) for run in reaped] == list(reaped)
    assert await store.reap_runs(lease, recover) == ()
    assert len(asked) == 6


@pytest.mark.requirement("P10")
async def test_runs_of_a_live_gateway_are_left_alone(home: Home, clock: FakeClock) -> None:
    claim = await started(home.store, home.lease, "r-1")
    assert await home.store.reap_runs(home.lease, interrupt) == ()
    clock.advance(LEASE_MS - 1)
    lease = await home.store.renew_lease(home.lease)
    clock.advance(1)
    assert await home.store.reap_runs(lease, interrupt) == ()
    assert (await known_run(home.store, "r-1")).claim == claim


@pytest.mark.requirement("P10", "P30")
async def test_runs_of_a_gateway_that_is_gone_are_reaped_by_another(home: Home, clock: FakeClock) -> None:
    await started(home.store, home.lease, "r-1")
    clock.advance(LEASE_MS)
    lease = await home.store.acquire_lease(SECOND)
    left_at: list[int | None] = []

    def recover(snapshot: RunSnapshot) -> Effects:
        left_at.append(snapshot.left_at)
        return requeue(snapshot)

    (run,) = await home.store.reap_runs(lease, recover)
    assert left_at == [home.lease.expires_at]
    assert (run.state, run.claim, run.progress.recoveries) == (RunState.QUEUED, None, 1)
    assert (await known(home.store)).status is SessionStatus.QUEUED


async def test_a_run_that_went_back_to_the_queue_is_claimed_with_a_higher_fence(
    home: Home, clock: FakeClock
) -> None:
    store = home.store
    first = await started(store, home.lease, "r-1")
    started_at = (await known_run(store, "r-1")).started_at
    clock.advance(5)
    lease = await store.acquire_lease(FIRST)
    await store.reap_runs(lease, requeue)
    (again,) = await store.claim_runs(lease, everything)
    assert claim_of(again).fence > first.fence
    assert again.started_at == started_at
    await store.finish_run(claim_of(again), lambda snapshot: (builders.done("r-1"),))


async def test_inputs_of_a_reaped_run_wait_for_its_next_claim(home: Home) -> None:
    store = home.store
    await accepted(store, "m-1", "r-1")
    await store.claim_runs(home.lease, everything)
    lease = await store.acquire_lease(FIRST)
    await store.reap_runs(lease, requeue)
    (again,) = await store.claim_runs(lease, everything)
    assert [entry.id for entry in await store.take_inputs(claim_of(again), as_entries)] == ["entry-m-1"]


@pytest.mark.requirement("P10")
async def test_the_fate_of_one_orphan_may_be_the_end_of_another(home: Home) -> None:
    store = home.store
    await started(store, home.lease, "r-1")
    await started(store, home.lease, "r-2", SIDE)
    asked: list[str] = []

    def recover(snapshot: RunSnapshot) -> Effects:
        asked.append(snapshot.run.id)
        return (*interrupt(snapshot), builders.done("r-2", state=RunState.KILLED))

    lease = await store.acquire_lease(FIRST)
    (reaped,) = await store.reap_runs(lease, recover)
    assert (asked, reaped.id) == (["r-1"], "r-1")
    assert (await known_run(store, "r-2")).state is RunState.KILLED


@pytest.mark.requirement("P10")
async def test_the_fate_of_a_run_may_be_to_go_with_its_session(home: Home) -> None:
    store = home.store
    await started(store, home.lease, "r-1", SIDE)
    lease = await store.acquire_lease(FIRST)
    (reaped,) = await store.reap_runs(
        lease, lambda snapshot: (*interrupt(snapshot), DiscardSession(key=SIDE))
    )
    assert (reaped.id, reaped.state) == ("r-1", RunState.INTERRUPTED)
    assert await store.session(SIDE) is None


@pytest.mark.requirement("P10")
async def test_a_run_that_cannot_be_given_a_fate_keeps_no_other_from_theirs(home: Home) -> None:
    store = home.store
    for number, key in enumerate((MAIN, SIDE, SessionKey.named("main", "third"))):
        await started(store, home.lease, f"r-{number}", key)
    lease = await store.acquire_lease(FIRST)
    stuck = await store.run("r-1")
    with pytest.raises(InvalidInput):
        await store.reap_runs(lease, lambda snapshot: () if snapshot.run.id == "r-1" else interrupt(snapshot))
    assert await store.run("r-1") == stuck
    for run_id in ("r-0", "r-2"):
        assert (await known_run(store, run_id)).state is RunState.INTERRUPTED
    assert [run.id for run in await store.reap_runs(lease, requeue)] == ["r-1"]


async def test_a_run_that_has_ended_does_not_go_back_to_the_queue(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    ended = await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))
    with pytest.raises(Conflict):
        await change(store, RequeueRun(run_id="r-1", ready_at=NOON, progress=Progress()))
    assert await store.run("r-1") == ended
