"""What becomes of a run whose gateway died: one fate each, from what it had begun and how long ago."""

from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from roost.core.burying import lay_by
from roost.core.effects import AddDelivery, AppendEntries, Effects, RequeueRun
from roost.core.endings import Announce, Ending
from roost.core.entries import EntryDraft
from roost.core.finishing import finish
from roost.core.inbound import InputMode
from roost.core.messages import Text, ToolResult
from roost.core.notices import INTERRUPTED_LINE, derived_id, notice
from roost.core.runs import Outcome, Run, RunState, Step, StepKind
from roost.core.snapshots import RunSnapshot
from roost.core.stopping import killed
from roost.core.whereabouts import Met, nowhere

MAX_AGE_MS = 600_000
MOST_RECOVERIES = 2
MOST_RECALLS = 2
LEFT_TOO_LONG = "the gateway was away too long"

OUTCOME_UNKNOWN = "The call was interrupted when the gateway stopped; its outcome is unknown."


@dataclass(frozen=True, slots=True)
class Requeue:
    """Nothing was under way."""


@dataclass(frozen=True, slots=True)
class CallAgain:
    """The model was asked and its answer is lost."""


@dataclass(frozen=True, slots=True)
class RunToolAgain:
    """The tool says that running it twice is running it once."""


@dataclass(frozen=True, slots=True)
class SyntheticResult:
    """The tool may or may not have done its work: the model is told so and goes on."""

    step: Step


@dataclass(frozen=True, slots=True)
class Interrupted:
    """It is not taken up again; who asked is told once."""

    why: str


Fate: TypeAlias = Requeue | CallAgain | RunToolAgain | SyntheticResult | Interrupted


def fate(run: Run, now: int, max_age_ms: int = MAX_AGE_MS, left_at: int | None = None) -> Fate:
    """The fate of a run found running under nobody. Its age counts from its last sign of life: a step may take longer than
    any age, while its gateway is there."""
    progress, step = run.progress, run.progress.step
    # One that was parked began long ago, and was taken up again no earlier than it was ready.
    last_sign = max(run.queued_at, run.ready_at, run.started_at or 0, step.at if step else 0, left_at or 0)
    if now - last_sign > max_age_ms:
        return Interrupted(f"it was left for more than {max_age_ms // 1000} s")
    if progress.recoveries >= MOST_RECOVERIES:
        return Interrupted(f"it was taken up {progress.recoveries} times before")
    if step is None or step.done:
        return Requeue()
    match step.kind:
        case StepKind.MODEL:
            again = progress.recalls < MOST_RECALLS
            return CallAgain() if again else Interrupted("its model call was lost too often")
        case StepKind.TOOL:
            return RunToolAgain() if step.reenterable else SyntheticResult(step)
        case _:
            assert_never(step.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The moment of recovery and the rules in force."""

    now: int
    announce: Announce
    max_age_ms: int = MAX_AGE_MS
    met: Met = nowhere


def recover(snapshot: RunSnapshot, recovery: Recovery) -> Effects:
    """Give a run its fate. One that was stopped, or whose session was started afresh, ends: neither may go on."""
    run, now = snapshot.run, recovery.now
    if snapshot.reset_away:
        outcome = Outcome(state=RunState.KILLED, at=now, code="reset", error="the session was reset")
        return finish(snapshot, _ending(outcome, recovery))
    if run.stop is not None:
        return finish(snapshot, _ending(killed(run.stop, now), recovery))
    progress = replace(run.progress, recoveries=run.progress.recoveries + 1)
    decided = fate(run, now, recovery.max_age_ms, snapshot.left_at)
    match decided:
        case Requeue() | RunToolAgain():
            return (RequeueRun(run_id=run.id, ready_at=now, progress=progress),)
        case CallAgain():
            recalled = replace(progress, recalls=progress.recalls + 1)
            return (RequeueRun(run_id=run.id, ready_at=now, progress=recalled),)
        case SyntheticResult():
            answered = AppendEntries(key=run.key, drafts=(_unknown(run, decided.step, now),))
            return (answered, RequeueRun(run_id=run.id, ready_at=now, progress=replace(progress, step=None)))
        case Interrupted():
            return _interrupt(snapshot, recovery, decided.why)
        case _:
            assert_never(decided)


def _unknown(run: Run, step: Step, at: int) -> EntryDraft:
    call_id = step.call_id or ""
    result = ToolResult(
        call_id=call_id, tool=step.tool or "", content=(Text(OUTCOME_UNKNOWN),), at=at, is_error=True
    )
    return EntryDraft(id=derived_id("unknown", run.id, call_id), body=result, run_id=run.id)


def _interrupt(snapshot: RunSnapshot, recovery: Recovery, why: str) -> Effects:
    run, now = snapshot.run, recovery.now
    outcome = Outcome(state=RunState.INTERRUPTED, at=now, code="interrupted", error=f"interrupted: {why}")
    unread = [
        record
        for record in snapshot.session.pending
        if record.run_id == run.id and record.mode is InputMode.OPEN
    ]
    lost = (snapshot.session.carried(record) for record in unread)
    told = tuple(effect for one in lost for effect in lay_by(one, LEFT_TOO_LONG, now))
    if not any(isinstance(effect, AddDelivery) for effect in told):
        told += notice(run.key, run.request.reply_to, INTERRUPTED_LINE, at=now, about=run.id)
    left = tuple(one for one in snapshot.session.pending if one not in unread)
    rest = replace(snapshot, session=replace(snapshot.session, pending=left))
    return (*told, *finish(rest, _ending(outcome, recovery)))


def _ending(outcome: Outcome, recovery: Recovery) -> Ending:
    return Ending(outcome=outcome, announce=recovery.announce, met=recovery.met)
