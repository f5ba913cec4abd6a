"""A firing: one time a job was due, and what came of it."""

from dataclasses import dataclass, replace
from enum import StrEnum

from roost.core.events import Unsaid
from roost.core.keys import SessionKey
from roost.core.runs import Outcome, Run, RunState

SUMMARY_CHARS = 2_000


class FiringState(StrEnum):
    STARTED = "started"
    OK = "ok"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """`due_at` is when it should have been, `at` when it was; `key` and `run_id` are where its work is. When one that
    `forgets` went well, its job is gone."""

    id: str
    job_id: str
    due_at: int
    at: int
    state: FiringState
    key: SessionKey
    run_id: str | None = None
    session_id: str | None = None
    ended_at: int | None = None
    summary: str | None = None
    error: str | None = None
    forgets: bool = False

    @property
    def begun(self) -> "Firing":
        """As it was when it began."""
        return replace(self, state=FiringState.STARTED, ended_at=None, summary=None, error=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PutFiring(Unsaid):
    """The effect that writes one down."""

    firing: Firing


def ended(firing: Firing, outcome: Outcome, said: str | None = None) -> Firing:
    """How it came out. One that is settled stays as it is."""
    if firing.state is not FiringState.STARTED:
        return firing
    well = outcome.succeeded
    return replace(
        firing,
        state=FiringState.OK if well else FiringState.ERROR,
        ended_at=outcome.at,
        summary=None if said is None else said[:SUMMARY_CHARS],
        error=None if well else outcome.error or str(outcome.state),
    )


def settled(firing: Firing, run: Run | None, at: int) -> Firing:
    """How a firing stands by its run: one whose run was ended before it began is told by nobody else."""
    if firing.run_id is None or (run is not None and not run.state.ended):
        return firing
    lost = Outcome(state=RunState.INTERRUPTED, at=at, error="its run is not known any more")
    return ended(firing, lost if run is None or run.outcome is None else run.outcome)
