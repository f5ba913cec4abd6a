"""A requester says more about the task it gave: into the run that is at it, or into one that takes it up again."""

from dataclasses import dataclass
from enum import StrEnum

from roost.core import toolnames
from roost.core.a2a import INTERNAL_CHANNEL
from roost.core.effects import AcceptInput, Effects, QueueRun, SteerChild
from roost.core.endings import completes, continuation
from roost.core.errors import Forbidden
from roost.core.exchanges import CompletionStatus
from roost.core.inbound import Inbound, InputMode, Source
from roost.core.keys import SessionKey
from roost.core.messages import Provenance, ProvenanceKind, Text
from roost.core.notices import derived_id
from roost.core.runs import Cause, Run, RunKind, RunState
from roost.core.snapshots import Snapshot
from roost.core.trees import Tree

EVERY_MS = 2_000
_AT_THE_TASK = frozenset({RunKind.TURN, RunKind.CONTINUATION})


class SteerMode(StrEnum):
    STEERED = "steered"
    RESTART = "restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """`spawned` is the run of the child's task."""

    id: str
    child: SessionKey
    requester: SessionKey
    cause: Cause
    spawned: Run
    text: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    effects: Effects
    mode: SteerMode


def steer(tree: Tree, word: Word) -> Steered | None:
    """None where the child has ended; raises `Forbidden` where the last word was said just now.

    A child that waits for its own children goes on at once, with this.
    """
    children = (one for one in tree.session.children if one.child == word.child)
    task = next((one for one in children if one.status is CompletionStatus.PENDING), None)
    if task is None:
        return None
    if task.steered_at is not None and word.at - task.steered_at < EVERY_MS:
        raise Forbidden("this sub-agent was steered just now", hint="wait two seconds, or say it all at once")
    child = next((one for one in tree.below if one.key == word.child), Snapshot(key=word.child))
    noted = SteerChild(child_run=task.child_run, at=word.at)
    inbound = _inbound(word)
    at_task = next((run for run in (child.running, *child.queued) if run and _at_task(run, word)), None)
    if at_task is not None:
        mode = InputMode.STEER if at_task is child.running else InputMode.OPEN
        accepted = AcceptInput(inbound=inbound, run_id=at_task.id, mode=mode)
        return Steered(effects=(accepted, noted), mode=SteerMode.STEERED)
    run = Run(
        id=derived_id("steered", word.id),
        key=word.child,
        state=RunState.QUEUED,
        cause=Cause(
            principal=word.cause.principal,
            kind=ProvenanceKind.SUBAGENT,
            trace=word.cause.trace,
            hops=word.spawned.cause.hops,
        ),
        request=continuation(word.spawned),
        queued_at=word.at,
        ready_at=word.at,
    )
    accepted = AcceptInput(inbound=inbound, run_id=run.id, mode=InputMode.OPEN)
    return Steered(effects=(QueueRun(run=run), accepted, noted), mode=SteerMode.RESTART)


def _at_task(run: Run, word: Word) -> bool:
    """Whether a run is at the task itself: somebody else may talk with the child meanwhile."""
    return completes(run) == word.spawned.id and run.request.kind in _AT_THE_TASK


def _inbound(word: Word) -> Inbound:
    return Inbound(
        id=word.id,
        key=word.child,
        principal=word.cause.principal,
        provenance=Provenance(
            kind=ProvenanceKind.SUBAGENT,
            principal=word.cause.principal,
            source_session=str(word.requester),
            source_tool=toolnames.SUBAGENTS,
        ),
        content=(Text(word.text),),
        source=Source(channel=INTERNAL_CHANNEL, idempotency_key=word.id),
        received_at=word.at,
        trace=word.cause.trace,
        hops=word.spawned.cause.hops,
    )
