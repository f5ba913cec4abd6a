"""The means of model calls: held before a call, settled or given back after it, waited for when there are none."""

from dataclasses import replace

import pytest

from roost.core.budgets import Balance, Balances, Hold, Measure, Reservation
from roost.core.effects import EndRun, QueueRun, RecordDenial, RequestStop, RequeueRun
from roost.core.entries import Entry
from roost.core.errors import Fenced
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.ledger import Denial, LedgerRow
from roost.core.messages import Usage
from roost.core.parking import Granted, Rule, Waits
from roost.core.principals import OWNER, person
from roost.core.queries import LedgerQuery
from roost.core.runs import Claim, Outcome, Parked, RunKind, RunState, Step, StepKind, StopRequest
from roost.core.sessions import SessionStatus
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import FIRST, Reopen
from tests.contract.scenes import (
    MindChangedError,
    change,
    everything,
    known,
    known_run,
    queued,
    reset,
    started,
)

SIDE = SessionKey.named("main", "side")
PARKED = Parked(at=NOON, setting="budgets.perDay.tokens", reason="as the test says")
LATER = NOON + 86_400_000


def row(name: str, run_id: str = "r1", *, tokens: int = 100) -> LedgerRow:
    return LedgerRow(
        id=name,
        at=NOON,
        key=MAIN,
        session_id=f"{MAIN}-1",
        principal=OWNER,
        run_id=run_id,
        run_kind=RunKind.TURN,
        provider="p",
        model="m",
        usage=Usage(input=tokens, total=tokens),
        estimated=True,
    )


def granting(name: str, *accounts: str, run_id: str = "r1", amount: int = 100) -> Rule:
    """A rule that adds a call to these accounts."""

    def rule(run: object, balances: Balances) -> Granted:
        holds = tuple(Hold(name=one, measure=Measure.TOKENS, amount=amount, since=0) for one in accounts)
        return Granted(
            reservation=Reservation(row=row(name, run_id, tokens=amount), holds=holds),
            balances={one: replace(balances[one], held=balances[one].held + amount) for one in accounts},
        )

    return rule


async def balances(store: Store, claim: Claim, *names: str) -> dict[str, Balance]:
    """What is stored of these accounts."""
    seen: list[Balances] = []

    def look(run: object, found: Balances) -> Granted:
        seen.append(found)
        raise MindChangedError("only looking")

    with pytest.raises(MindChangedError):
        await store.reserve(claim, names, look)
    return dict(seen[-1])


async def test_a_call_holds_its_means_until_it_is_settled(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r1")
    after = await store.reserve(claim, ("b", "a"), granting("call", "a", "b"))
    assert after.state is RunState.RUNNING
    assert await balances(store, claim, "a", "b") == {"a": Balance(held=100), "b": Balance(held=100)}
    await store.record_usage(replace(row("call"), usage=Usage(input=30, total=30), estimated=False))
    assert await balances(store, claim, "a", "b") == {"a": Balance(spent=30), "b": Balance(spent=30)}


async def test_accounts_are_seen_in_the_order_of_their_names_and_empty_at_first(
    store: Store, lease: Lease
) -> None:
    claim = await started(store, lease, "r1")
    found = await balances(store, claim, "c", "a", "b")
    assert list(found) == ["a", "b", "c"]
    assert set(found.values()) == {Balance()}


async def test_a_balance_is_kept_whole(store: Store, lease: Lease, reopen: Reopen) -> None:
    claim = await started(store, lease, "r1")
    full = Balance(since=5, spent=2**62, held=0, warned=9)
    ruling = Granted(reservation=Reservation(row=row("call"), holds=()), balances={"a": full})
    await store.reserve(claim, ("a",), lambda run, found: ruling)
    store = await reopen()
    again = await started(store, await store.acquire_lease(FIRST), "r2", SIDE)
    assert await balances(store, again, "a") == {"a": full}


async def test_settling_and_reserving_again_change_nothing(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r1")
    for _ in range(2):
        await store.reserve(claim, ("a",), granting("call", "a"))
        assert await balances(store, claim, "a") == {"a": Balance(held=100)}
    for _ in range(2):
        await store.record_usage(replace(row("call"), estimated=False))
        assert await balances(store, claim, "a") == {"a": Balance(spent=100)}


async def test_what_is_released_is_free_again_and_in_no_ledger(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r1")
    await store.reserve(claim, ("a",), granting("call", "a"))
    for _ in range(2):
        await store.release("call")
        assert await balances(store, claim, "a") == {"a": Balance()}
    await store.release("no such call")
    assert (await store.usage(LedgerQuery())).calls == 0


@pytest.mark.requirement("P19", "P20")
@pytest.mark.parametrize("ends", [True, False])
async def test_a_call_that_is_never_heard_of_counts_as_what_it_held(
    store: Store, lease: Lease, clock: FakeClock, *, ends: bool
) -> None:
    claim = await started(store, lease, "r1")
    await store.reserve(claim, ("a", "b"), granting("call", "a", "b"))
    if ends:
        await store.finish_run(claim, lambda snapshot: (builders.done("r1"),))
    else:
        lease = await store.acquire_lease(FIRST)
        again = RequeueRun(run_id="r1", ready_at=LATER, progress=(await known_run(store, "r1")).progress)
        await store.reap_runs(lease, lambda snapshot: (again,))
    other = await started(store, lease, "r2", SIDE)
    assert await balances(store, other, "a", "b") == {"a": Balance(spent=100), "b": Balance(spent=100)}
    total = await store.usage(LedgerQuery())
    assert (total.calls, total.usage.total) == (1, 100)
    # Its real cost, should it still come, replaces the estimate in the ledger.
    await store.record_usage(replace(row("call"), usage=Usage(input=30, total=30), estimated=False))
    assert (await store.usage(LedgerQuery())).usage.total == 30
    assert await balances(store, other, "a") == {"a": Balance(spent=100)}


async def test_several_calls_left_by_runs_that_end_together_are_all_counted(
    store: Store, lease: Lease
) -> None:
    first = await started(store, lease, "r1")
    second = await started(store, lease, "r2", SIDE)
    await store.reserve(first, ("a",), granting("c1", "a"))
    await store.reserve(first, ("a", "b"), granting("c2", "a", "b"))
    await store.reserve(second, ("b",), granting("c3", "b", run_id="r2"))
    outcome = Outcome(state=RunState.KILLED, at=NOON)
    await change(store, EndRun(run_id="r1", outcome=outcome), EndRun(run_id="r2", outcome=outcome))
    third = await started(store, lease, "r3", SessionKey.named("main", "third"))
    assert await balances(store, third, "a", "b") == {"a": Balance(spent=200), "b": Balance(spent=200)}
    assert (await store.usage(LedgerQuery())).calls == 3


async def test_a_rule_that_fails_leaves_nothing(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r1")

    def broken(run: object, found: Balances) -> Granted:
        ruling = granting("call", "a")(run, found)  # type: ignore[arg-type]
        assert isinstance(ruling, Granted)
        return replace(ruling, effects=(QueueRun(run=builders.run("r9", SIDE)),))

    with pytest.raises(Exception, match="no session"):
        await store.reserve(claim, ("a",), broken)
    assert await balances(store, claim, "a") == {"a": Balance()}


async def test_a_run_that_was_stopped_is_not_parked(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r1")
    stop = StopRequest(reason="stopped by command", by=OWNER, at=NOON)
    await change(store, RequestStop(run_id="r1", stop=stop))
    with pytest.raises(Fenced, match="stopped by command"):
        await store.reserve(claim, (), lambda run, found: Waits(ready_at=LATER, parked=PARKED))
    assert (await known_run(store, "r1")).state is RunState.RUNNING


async def test_a_run_whose_session_began_anew_is_not_parked(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r1")
    await reset(store, 2)
    with pytest.raises(Fenced, match="was reset"):
        await store.reserve(claim, (), lambda run, found: Waits(ready_at=LATER, parked=PARKED))
    assert (await known_run(store, "r1")).state is RunState.RUNNING


async def test_only_who_holds_the_run_may_reserve_for_it(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r1")
    with pytest.raises(Fenced):
        await store.reserve(replace(claim, fence=claim.fence + 1), ("a",), granting("call", "a"))


# -- waiting -----------------------------------------------------------------------------------------


async def parked(store: Store, lease: Lease, why: Parked = PARKED) -> Claim:
    claim = await started(store, lease, "r1")
    denial = Denial(at=NOON, operation="model_call", principal=OWNER, rule="r", reason="why")
    ruling = Waits(ready_at=LATER, parked=why, effects=(RecordDenial(denial=denial),))
    after = await store.reserve(claim, ("a",), lambda run, found: ruling)
    assert (after.state, after.claim, after.ready_at, after.parked) == (RunState.QUEUED, None, LATER, why)
    return claim


@pytest.mark.requirement("P20")
async def test_a_parked_run_gives_its_claim_back_and_keeps_the_place_in_its_session(
    store: Store, lease: Lease, clock: FakeClock
) -> None:
    claim = await parked(store, lease)
    assert (await known(store)).status is SessionStatus.PARKED
    assert len(await store.denials(10)) == 1
    with pytest.raises(Fenced):
        await store.reserve(claim, ("a",), granting("call", "a"))
    await queued(store, "r2")
    assert (await known(store)).status is SessionStatus.PARKED
    assert await store.claim_runs(lease, everything) == ()
    clock.advance(LATER - NOON)
    lease = await store.acquire_lease(FIRST)
    (run,) = await store.claim_runs(lease, everything)
    assert (run.id, run.parked) == ("r1", PARKED)
    assert (await known(store)).status is SessionStatus.RUNNING


@pytest.mark.requirement("P20")
async def test_a_run_parked_for_its_persons_own_budget_lets_others_pass_and_its_own_wait(
    store: Store, lease: Lease, clock: FakeClock
) -> None:
    await parked(store, lease, replace(PARKED, personal=True))
    await queued(store, "r2")
    assert (await known(store)).status is SessionStatus.PARKED
    other = builders.run("r3")
    other = replace(other, cause=replace(other.cause, principal=person("loopback", "bob")))
    await change(store, QueueRun(run=other))
    assert (await known(store)).status is SessionStatus.QUEUED
    (run,) = await store.claim_runs(lease, everything)
    assert run.id == "r3"
    (woken,) = await store.wake_parked(lease)
    assert (woken.id, (await known(store)).status) == ("r1", SessionStatus.RUNNING)
    await change(store, builders.done("r3"))
    (run,) = await store.claim_runs(lease, everything)
    assert run.id == "r1"


@pytest.mark.requirement("P20")
async def test_a_run_that_was_ended_while_it_stood_aside_keeps_nobody_waiting(
    store: Store, lease: Lease
) -> None:
    await parked(store, lease, replace(PARKED, personal=True))
    await queued(store, "r2")
    await change(store, EndRun(run_id="r1", outcome=Outcome(state=RunState.KILLED, at=NOON)))
    (run,) = await store.claim_runs(lease, everything)
    assert run.id == "r2"


@pytest.mark.requirement("P20")
async def test_what_is_parked_can_be_woken_and_remembers_that_it_was(
    store: Store, reopen: Reopen, lease: Lease
) -> None:
    await parked(store, lease)
    await queued(store, "r2")
    store = await reopen()
    lease = await store.acquire_lease(FIRST)
    (woken,) = await store.wake_parked(lease)
    assert (woken.id, woken.ready_at, woken.parked) == ("r1", NOON, PARKED)
    assert (await known(store)).status is SessionStatus.QUEUED
    assert await store.wake_parked(lease) == ()
    (run,) = await store.claim_runs(lease, everything)
    assert run.id == "r1"
    assert await store.wake_parked(lease) == ()


@pytest.mark.requirement("P20")
async def test_a_session_stays_parked_when_what_waits_behind_the_parked_run_is_ended(
    store: Store, lease: Lease
) -> None:
    await parked(store, lease)
    await queued(store, "r2")
    await change(store, EndRun(run_id="r2", outcome=Outcome(state=RunState.KILLED, at=NOON)))
    assert (await known(store)).status is SessionStatus.PARKED


async def test_a_gateway_without_its_lease_wakes_nothing(store: Store, lease: Lease) -> None:
    await parked(store, lease)
    await store.acquire_lease(FIRST)
    with pytest.raises(Fenced):
        await store.wake_parked(lease)


async def test_a_run_that_waits_for_a_moment_is_queued_and_not_parked(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r1")
    after = await store.reserve(claim, (), lambda run, found: Waits(ready_at=NOON + 5))
    assert (after.state, after.ready_at, after.parked) == (RunState.QUEUED, NOON + 5, None)
    assert (await known(store)).status is SessionStatus.QUEUED
    assert await store.wake_parked(lease) == ()


# -- calls without a budget ----------------------------------------------------------------------------

ASKED = Step(kind=StepKind.MODEL, at=NOON)


@pytest.mark.requirement("P19")
async def test_a_call_that_nobody_hears_of_again_is_in_the_ledger_as_an_estimate(
    store: Store, lease: Lease
) -> None:
    claim = await started(store, lease, "r1")
    await store.begin_step(claim, ASKED, row("call"))
    assert (await store.usage(LedgerQuery())).calls == 0
    await store.finish_run(claim, lambda snapshot: (builders.done("r1"),))
    total = await store.usage(LedgerQuery())
    assert (total.calls, total.usage.input) == (1, 100)


@pytest.mark.requirement("P19")
async def test_a_call_that_was_heard_of_or_cost_nothing_leaves_no_estimate(
    store: Store, lease: Lease
) -> None:
    claim = await started(store, lease, "r1")
    await store.begin_step(claim, ASKED, row("heard of"))
    await store.record_usage(replace(row("heard of"), usage=Usage(input=7, total=7), estimated=False))
    await store.begin_step(claim, ASKED, row("refused"))
    await store.release("refused")
    await store.finish_run(claim, lambda snapshot: (builders.done("r1"),))
    total = await store.usage(LedgerQuery())
    assert (total.calls, total.usage.input) == (1, 7)


@pytest.mark.requirement("P19")
async def test_a_call_may_begin_with_what_it_is_about(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r1")
    seen: list[tuple[Entry, ...]] = []

    def begin(entries: tuple[Entry, ...]) -> LedgerRow:
        seen.append(entries)
        return row("call")

    assert await store.take_inputs(claim, lambda records: (), lambda entries: None) == ()
    assert (await known_run(store, "r1")).progress.model_calls == 0
    assert await store.take_inputs(claim, lambda records: (), begin) == ()
    assert seen[-1] == ()
    progress = (await known_run(store, "r1")).progress
    assert (progress.model_calls, progress.step) == (1, Step(kind=StepKind.MODEL, at=row("call").at))
    await store.finish_run(claim, lambda snapshot: (builders.done("r1"),))
    assert (await store.usage(LedgerQuery())).calls == 1


@pytest.mark.requirement("P20")
async def test_a_call_that_holds_its_means_keeps_them_when_it_begins(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r1")
    await store.reserve(claim, ("day",), granting("call", "day", amount=50))
    await store.begin_step(claim, ASKED, row("call", tokens=1))
    await store.finish_run(claim, lambda snapshot: (builders.done("r1"),))
    assert (await store.usage(LedgerQuery())).usage.input == 50
