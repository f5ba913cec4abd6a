"""Runs that yielded and wait for others: found when their time is over, and ended once."""

import pytest

from roost.core import children
from roost.core.effects import AcknowledgeCompletion, Effects, EndRun, OweCompletion, SettleCompletion
from roost.core.errors import Fenced, InvalidInput
from roost.core.events import EventKind
from roost.core.exchanges import Completion, CompletionStatus
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.runs import Outcome, Run, RunState
from roost.core.sessions import SessionStatus
from roost.core.snapshots import RunSnapshot
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.homes import Reopen
from tests.contract.scenes import Seen, change, known, opened, started

CHILD = SessionKey.parse("agent:main:subagent:one")
Advance = Seen[RunSnapshot, Effects]
LATE = Outcome(state=RunState.TIMEOUT, at=NOON + 9, error="too late")
UNTIL = NOON + 5


def owed(batch: str) -> Completion:
    return Completion(child_run="c-1", child=CHILD, requester=MAIN, batch=batch, created_at=NOON)


async def waiting(store: Store, lease: Lease, until: int | None = UNTIL, run_id: str = "r-1") -> Run:
    """A run that spawned a child and yielded."""
    claim = await started(store, lease, run_id)
    await opened(store, row=builders.session(CHILD, parent=MAIN))
    yielded = Outcome(state=RunState.DONE, at=NOON, yielded=True, until=until)
    owing = OweCompletion(completion=owed(run_id))
    return await store.finish_run(claim, lambda snapshot: (EndRun(run_id=run_id, outcome=yielded), owing))


@pytest.mark.requirement("D21")
async def test_a_run_that_yielded_is_overdue_from_the_end_of_its_time_on(
    store: Store, lease: Lease, reopen: Reopen
) -> None:
    run = await waiting(store, lease)
    store = await reopen()
    assert await store.overdue_runs(UNTIL - 1) == ()
    assert await store.overdue_runs(UNTIL) == (run,)


@pytest.mark.requirement("D21")
async def test_a_run_that_may_wait_as_long_as_it_takes_is_never_overdue(store: Store, lease: Lease) -> None:
    await waiting(store, lease, until=None)
    assert await store.overdue_runs(NOON + 10**12) == ()


@pytest.mark.requirement("D21")
async def test_a_run_that_waited_too_long_ends_once_with_everything_that_follows(
    store: Store, lease: Lease
) -> None:
    run = await waiting(store, lease)
    seen = Advance((EndRun(run_id=run.id, outcome=LATE),))
    ended = await store.give_up(lease, run.id, seen)
    assert ended is not None
    assert (ended.state, ended.outcome) == (RunState.TIMEOUT, LATE)
    assert (seen.last.run, [one.child_run for one in seen.last.spawned]) == (run, ["c-1"])
    assert await store.run(run.id) == ended
    assert (await known(store)).status is SessionStatus.TIMEOUT
    assert await store.overdue_runs(UNTIL) == ()
    assert await store.give_up(lease, run.id, _unasked) is None
    assert [event.kind for event in await store.events(MAIN, after=0, limit=100)][-1] is EventKind.RUN_ENDED


def _unasked(snapshot: RunSnapshot) -> Effects:
    raise AssertionError("it does not wait")


@pytest.mark.requirement("D21")
@pytest.mark.parametrize("gone_on", [True, False])
async def test_a_run_that_waits_no_more_is_not_given_up_and_overdue_no_more(
    store: Store, lease: Lease, gone_on: bool
) -> None:
    run = await waiting(store, lease)
    acknowledged = AcknowledgeCompletion(child_run="c-1", at=NOON)
    settled = SettleCompletion(child_run="c-1", status=CompletionStatus.OK, at=NOON)
    follows = children.go_on(run, (owed(run.id),), NOON) if gone_on else (acknowledged,)
    await change(store, settled, *follows)
    assert await store.give_up(lease, run.id, _unasked) is None
    after = await store.run(run.id)
    assert after is not None
    assert after.outcome is not None
    assert (after.outcome.yielded, after.outcome.until) == (True, None)
    assert await store.overdue_runs(UNTIL) == ()


async def test_a_run_that_is_not_there_is_not_given_up(store: Store, lease: Lease) -> None:
    assert await store.give_up(lease, "nowhere", _unasked) is None


async def test_a_decision_that_does_not_end_what_waited_is_refused(store: Store, lease: Lease) -> None:
    run = await waiting(store, lease)
    with pytest.raises(InvalidInput, match="did not end it"):
        await store.give_up(lease, run.id, lambda snapshot: ())
    assert await store.overdue_runs(UNTIL) == (run,)


async def test_only_a_gateway_with_a_lease_gives_up_what_waits(store: Store, lease: Lease) -> None:
    run = await waiting(store, lease)
    await store.release_lease(lease)
    with pytest.raises(Fenced):
        await store.give_up(lease, run.id, _unasked)
