"""A requester says more about the task it gave."""

from dataclasses import replace

import pytest

from roost.core import toolnames
from roost.core.effects import AcceptInput, QueueRun, SteerChild
from roost.core.errors import Forbidden
from roost.core.exchanges import CompletionStatus
from roost.core.inbound import InputMode
from roost.core.messages import Provenance, ProvenanceKind
from roost.core.runs import Lane, Request, RunKind, RunState
from roost.core.snapshots import Snapshot
from roost.core.steering import EVERY_MS, Steered, SteerMode, Word, steer
from roost.core.trees import Tree
from tests import samples
from tests.samples import CHILD, MAIN, NOON

SPAWNED = samples.run("c-run", key=CHILD, request=Request(lane=Lane.SUBAGENT, requester=MAIN))
WORD = Word(
    id="w1", child=CHILD, requester=MAIN, cause=SPAWNED.cause, spawned=SPAWNED, text="faster", at=NOON
)


def tree(
    child: Snapshot, status: CompletionStatus = CompletionStatus.PENDING, steered_at: int | None = None
) -> Tree:
    owed = replace(samples.completion("c-run"), status=status, steered_at=steered_at)
    return Tree(session=replace(samples.snapshot(), children=(owed,)), below=(child,))


def steered(child: Snapshot) -> Steered:
    found = steer(tree(child), WORD)
    assert found is not None
    return found


def accepted(found: Steered) -> AcceptInput:
    (one,) = [effect for effect in found.effects if isinstance(effect, AcceptInput)]
    return one


def test_a_run_at_the_task_hears_it_at_its_next_step() -> None:
    found = steered(replace(samples.snapshot(CHILD), running=SPAWNED))
    assert (found.mode, accepted(found).run_id, accepted(found).mode) == (
        SteerMode.STEERED,
        "c-run",
        InputMode.STEER,
    )
    assert accepted(found).inbound.provenance == Provenance(
        kind=ProvenanceKind.SUBAGENT, source_session=str(MAIN), source_tool=toolnames.SUBAGENTS
    )


def test_a_run_that_waits_for_its_turn_begins_with_it() -> None:
    queued = replace(SPAWNED, state=RunState.QUEUED)
    found = steered(replace(samples.snapshot(CHILD), queued=(queued,)))
    assert (found.mode, accepted(found).mode) == (SteerMode.STEERED, InputMode.OPEN)


TALK = samples.run("talk", key=CHILD)


@pytest.mark.requirement("P7", "P16")
@pytest.mark.parametrize(
    "child",
    [
        samples.snapshot(CHILD),
        replace(
            samples.snapshot(CHILD),
            running=replace(SPAWNED, id="s", request=Request(kind=RunKind.COMPACTION)),
        ),
        replace(samples.snapshot(CHILD), running=TALK),
        replace(samples.snapshot(CHILD), queued=(replace(TALK, state=RunState.QUEUED),)),
    ],
    ids=["idle", "condensing", "a person talks with it", "a person waits for it"],
)
def test_a_child_that_waits_goes_on_in_place_of_its_first_run(child: Snapshot) -> None:
    found = steered(child)
    (queued,) = [effect.run for effect in found.effects if isinstance(effect, QueueRun)]
    assert found.mode is SteerMode.RESTART
    assert (queued.request.completes, queued.request.kind) == ("c-run", RunKind.CONTINUATION)
    assert accepted(found).run_id == queued.id


def test_a_child_that_has_ended_hears_nothing_more() -> None:
    assert steer(tree(samples.snapshot(CHILD), CompletionStatus.OK), WORD) is None
    assert steer(Tree(session=samples.snapshot()), WORD) is None


def test_a_child_is_not_steered_faster_than_it_can_follow_whether_or_not_it_has_read_the_last_word() -> None:
    child = replace(samples.snapshot(CHILD), running=SPAWNED)
    first = steered(child)
    assert SteerChild(child_run="c-run", at=NOON) in first.effects
    unread = samples.pending(accepted(first).inbound, "c-run", InputMode.STEER)
    for below in (child, replace(child, pending=(unread,)), samples.snapshot(CHILD)):
        said = tree(below, steered_at=NOON)
        with pytest.raises(Forbidden, match="just now"):
            steer(said, replace(WORD, id="w2", at=NOON + EVERY_MS - 1))
        assert steer(said, replace(WORD, id="w2", at=NOON + EVERY_MS)) is not None


def test_a_child_without_work_is_taken_up_again() -> None:
    owed = samples.completion("c-run")
    found = steer(Tree(session=replace(samples.snapshot(), children=(owed,))), WORD)
    assert found is not None
    assert found.mode is SteerMode.RESTART
