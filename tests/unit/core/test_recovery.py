from dataclasses import replace

import pytest

from roost.core.effects import (
    AddDelivery,
    AppendEntries,
    Effect,
    EndRun,
    KeepInput,
    KillInput,
    MoveInput,
    QueueRun,
    RequeueRun,
    SettleCompletion,
)
from roost.core.inbound import InboundRecord, InputMode
from roost.core.messages import ProvenanceKind, ToolResult
from roost.core.principals import OWNER
from roost.core.recovery import (
    MAX_AGE_MS,
    CallAgain,
    Fate,
    Interrupted,
    Recovery,
    Requeue,
    RunToolAgain,
    SyntheticResult,
    fate,
    recover,
)
from roost.core.runs import Progress, Run, RunState, Step, StepKind, StopRequest
from roost.core.snapshots import RunSnapshot
from tests import samples
from tests.samples import NOON, inbound, pending

MODEL = Step(kind=StepKind.MODEL, at=NOON)
TOOL = Step(kind=StepKind.TOOL, at=NOON, tool="exec", call_id="c1")
SAFE_TOOL = replace(TOOL, reenterable=True)
SOON = NOON + 5000
RECOVERY = Recovery(now=SOON, announce=lambda _, __: "")


def lost(step: Step | None = None, *, recalls: int = 0, recoveries: int = 0) -> Run:
    return replace(samples.run(), progress=Progress(step=step, recalls=recalls, recoveries=recoveries))


def snapshot(run: Run, *waiting: InboundRecord) -> RunSnapshot:
    return RunSnapshot(run=run, session=replace(samples.snapshot(), pending=waiting))


def kinds(effects: tuple[Effect, ...]) -> list[type[Effect]]:
    return [type(effect) for effect in effects]


@pytest.mark.requirement("P10")
@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lost(), Requeue()),
        (lost(recoveries=1), Requeue()),
        (lost(replace(TOOL, done=True)), Requeue()),
        (lost(MODEL), CallAgain()),
        (lost(MODEL, recalls=1, recoveries=1), CallAgain()),
        (lost(SAFE_TOOL), RunToolAgain()),
        (lost(TOOL), SyntheticResult(TOOL)),
    ],
)
def test_a_run_goes_on_from_what_it_had_begun(run: Run, expected: Fate) -> None:
    assert fate(run, SOON) == expected


@pytest.mark.requirement("P10")
@pytest.mark.parametrize("step", [None, MODEL, TOOL, SAFE_TOOL])
def test_the_third_recovery_and_old_age_interrupt_whatever_was_going_on(step: Step | None) -> None:
    assert isinstance(fate(lost(step, recoveries=2), SOON), Interrupted)
    assert not isinstance(fate(lost(step), NOON + MAX_AGE_MS), Interrupted)
    assert isinstance(fate(lost(step), NOON + MAX_AGE_MS + 1), Interrupted)
    # A step may be a long one: what counts is for how long nobody was at it.
    at_work = fate(lost(step), NOON + 3 * MAX_AGE_MS, left_at=NOON + 2 * MAX_AGE_MS)
    assert not isinstance(at_work, Interrupted)


@pytest.mark.requirement("P10")
def test_a_model_is_asked_again_at_most_twice_in_a_runs_life() -> None:
    assert isinstance(fate(lost(MODEL, recalls=2, recoveries=1), SOON), Interrupted)


def test_age_counts_from_the_last_sign_of_life() -> None:
    long_run = lost(replace(MODEL, at=NOON + 10 * MAX_AGE_MS))
    assert fate(long_run, NOON + 10 * MAX_AGE_MS + 1) == CallAgain()
    taken_up_late = replace(lost(MODEL), ready_at=NOON + 10 * MAX_AGE_MS)
    assert fate(taken_up_late, NOON + 10 * MAX_AGE_MS + 1) == CallAgain()


@pytest.mark.requirement("P10")
@pytest.mark.parametrize(
    ("run", "progress"),
    [
        (lost(), Progress(recoveries=1)),
        (lost(MODEL), Progress(step=MODEL, recalls=1, recoveries=1)),
        (lost(SAFE_TOOL), Progress(step=SAFE_TOOL, recoveries=1)),
    ],
)
def test_a_run_that_goes_on_is_queued_again_and_counts_it(run: Run, progress: Progress) -> None:
    assert recover(snapshot(run), RECOVERY) == (RequeueRun(run_id="r1", ready_at=SOON, progress=progress),)


@pytest.mark.requirement("P10")
def test_a_tool_call_of_unknown_outcome_is_answered_so_and_the_run_goes_on() -> None:
    appended, requeued = recover(snapshot(lost(TOOL)), RECOVERY)
    assert isinstance(appended, AppendEntries)
    (draft,) = appended.drafts
    assert isinstance(draft.body, ToolResult)
    assert (draft.body.call_id, draft.body.tool, draft.body.is_error) == ("c1", "exec", True)
    assert "outcome is unknown" in str(draft.body.content)
    assert requeued == RequeueRun(run_id="r1", ready_at=SOON, progress=Progress(recoveries=1))


@pytest.mark.requirement("P10")
def test_an_interrupted_run_is_told_once_and_ends() -> None:
    told, ended = recover(snapshot(lost(recoveries=2)), RECOVERY)
    assert isinstance(told, AddDelivery)
    assert isinstance(ended, EndRun)
    assert (told.delivery.address, ended.outcome.state) == (samples.CHAT, RunState.INTERRUPTED)
    assert (told, ended) == recover(snapshot(lost(recoveries=2)), RECOVERY)


@pytest.mark.requirement("P3", "P10")
def test_what_an_interrupted_run_never_read_dies_with_a_notice_and_what_steered_it_lives() -> None:
    unread = pending(inbound("m1"), "r1")
    steering = pending(inbound("m2"), "r1", InputMode.STEER)
    effects = recover(snapshot(lost(recoveries=2), unread, steering), RECOVERY)
    assert kinds(effects) == [KillInput, AddDelivery, EndRun, QueueRun, MoveInput]
    assert isinstance(effects[-1], MoveInput)
    assert effects[-1].inbound_id == "m2"


@pytest.mark.requirement("P10")
def test_a_chat_is_told_also_when_what_was_never_read_came_from_no_chat() -> None:
    findings = pending(inbound("m1", kind=ProvenanceKind.SUBAGENT, reply_to=None), "r1")
    effects = recover(snapshot(lost(recoveries=2), findings), RECOVERY)
    assert kinds(effects) == [KeepInput, AppendEntries, AddDelivery, EndRun]
    assert isinstance(effects[2], AddDelivery)
    assert effects[2].delivery.address == samples.CHAT


@pytest.mark.requirement("P5", "P10")
@pytest.mark.parametrize("step", [None, MODEL, TOOL, SAFE_TOOL])
def test_a_run_whose_session_was_reset_writes_nothing_and_ends(step: Step | None) -> None:
    run = replace(lost(step), session_id="closed")
    left = pending(inbound("m2"), "r1", InputMode.STEER)
    effects = recover(snapshot(run, left), RECOVERY)
    assert kinds(effects) == [EndRun, QueueRun, MoveInput]
    assert isinstance(effects[0], EndRun)
    assert (effects[0].outcome.state, effects[0].outcome.code) == (RunState.KILLED, "reset")


@pytest.mark.requirement("P1", "P10")
def test_an_interrupted_child_is_settled_for_its_requester() -> None:
    child = replace(
        snapshot(lost(recoveries=2)),
        completion=samples.completion("r1", requester=samples.OPS),
        requester=samples.snapshot(samples.OPS),
    )
    settled = [one for one in recover(child, RECOVERY) if isinstance(one, SettleCompletion)]
    assert [one.status for one in settled] == ["interrupted"]


@pytest.mark.requirement("P27")
@pytest.mark.parametrize("step", [None, MODEL, TOOL, SAFE_TOOL])
def test_a_run_that_was_stopped_is_not_taken_up_again(step: Step | None) -> None:
    run = replace(lost(step), stop=StopRequest(reason="enough", by=OWNER, at=NOON))
    later = pending(inbound("m2"), run.id, InputMode.STEER)
    effects = recover(snapshot(run, later), RECOVERY)
    (end,) = (effect for effect in effects if isinstance(effect, EndRun))
    assert (end.outcome.state, end.outcome.error) == (RunState.KILLED, "enough")
    assert RequeueRun not in kinds(effects)
    assert [effect.inbound_id for effect in effects if isinstance(effect, MoveInput)] == ["m2"]
