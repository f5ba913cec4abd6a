from dataclasses import replace

import pytest

from roost.core.effects import AddDelivery, EndRun, MoveInput, PutExchange, QueueRun, SettleCompletion
from roost.core.endings import Ending
from roost.core.finishing import finish
from roost.core.inbound import InputMode
from roost.core.runs import Outcome, Parked, RunState
from roost.core.snapshots import RunSnapshot
from tests import samples
from tests.samples import NOON, inbound, pending

DONE = Outcome(state=RunState.DONE, at=NOON)


@pytest.mark.requirement("P1", "P3")
def test_one_decision_ends_the_run_moves_what_it_left_and_serves_who_waits() -> None:
    left = pending(inbound("m2"), "r1", InputMode.STEER)
    snapshot = RunSnapshot(
        run=samples.run(),
        session=replace(samples.snapshot(), pending=(left,)),
        completion=samples.completion("r1", requester=samples.OPS),
        requester=samples.snapshot(samples.OPS),
    )
    effects = finish(snapshot, Ending(outcome=DONE, announce=lambda _, __: "", reply="x"))
    assert [type(effect) for effect in effects] == [EndRun, QueueRun, MoveInput, SettleCompletion, QueueRun]
    assert effects[0] == EndRun(run_id="r1", outcome=DONE)


def test_an_ordinary_run_just_ends() -> None:
    snapshot = RunSnapshot(run=samples.run(), session=samples.snapshot())
    effects = finish(snapshot, Ending(outcome=DONE, announce=lambda _, __: ""))
    assert effects == (EndRun(run_id="r1", outcome=DONE),)


@pytest.mark.requirement("P20")
def test_a_run_that_was_parked_and_is_ended_lets_its_user_know() -> None:
    parked = replace(samples.run(), parked=Parked(at=NOON, setting="budgets.perDay.tokens", reason="used up"))
    killed = Outcome(state=RunState.KILLED, at=NOON, error="stopped")
    snapshot = RunSnapshot(run=parked, session=samples.snapshot())
    effects = finish(snapshot, Ending(outcome=killed, announce=lambda _, __: ""))
    assert [type(effect) for effect in effects] == [EndRun, AddDelivery]


@pytest.mark.requirement("P1", "D63")
@pytest.mark.parametrize("waits", [True, False])
def test_a_child_that_yields_has_ended_unless_it_has_something_to_wait_for(waits: bool) -> None:
    own = (samples.completion("r9", batch="r1"),) if waits else ()
    snapshot = RunSnapshot(
        run=samples.run(),
        session=samples.snapshot(),
        spawned=own,
        exchange=samples.exchange(),
        partner=samples.snapshot(samples.OPS),
        completion=samples.completion("r1", requester=samples.OPS),
        requester=samples.snapshot(samples.OPS),
    )
    yielded = replace(DONE, yielded=True)
    end, *rest = finish(snapshot, Ending(outcome=yielded, announce=lambda _, __: "", reply="x"))
    assert end == EndRun(run_id="r1", outcome=yielded if waits else DONE)
    served = {type(effect) for effect in rest} & {SettleCompletion, PutExchange}
    assert served == (set() if waits else {SettleCompletion, PutExchange})
