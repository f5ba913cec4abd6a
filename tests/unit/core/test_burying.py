from collections.abc import Callable
from dataclasses import replace

import pytest

from roost.core import stopping
from roost.core.burying import bury, lay_by
from roost.core.effects import AddDelivery, AppendEntries, Effects, KeepInput, KillInput
from roost.core.handover import hand_over
from roost.core.inbound import InboundRecord, InboundState
from roost.core.messages import ProvenanceKind
from roost.core.queueing import plan
from roost.core.queuesettings import DropPolicy, QueueMode, QueuePolicy, QueueSettings
from roost.core.recovery import Recovery, recover
from roost.core.runs import Outcome, Progress, RunState, StopRequest
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.trees import Tree
from tests import samples
from tests.samples import ALICE, CHAT, NOON, OTHER_CHAT, inbound, pending

ALONE = (pending(inbound("a"), "q1"),)
FELL = replace(pending(inbound("a"), "q1"), state=InboundState.MERGED, merged_into="b")
BOTH = (FELL, pending(inbound("b"), "q1"))


def dead(effects: Effects) -> list[str]:
    return [effect.inbound_id for effect in effects if isinstance(effect, KillInput)]


def told(effects: Effects) -> list[str]:
    return [effect.delivery.text for effect in effects if isinstance(effect, AddDelivery)]


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    ("lost", "text"),
    [(ALONE, "Not answered (stopped): a"), (BOTH, "Not answered (stopped):\n- a\n- b")],
)
def test_a_message_is_dead_with_what_was_merged_into_it_and_its_sender_hears_of_all(
    lost: tuple[InboundRecord, ...], text: str
) -> None:
    effects = bury(lost, "stopped", NOON)
    assert dead(effects) == [one.inbound.id for one in lost]
    assert told(effects) == [text]


def test_who_hears_of_it_otherwise_gets_no_notice() -> None:
    assert told(bury(BOTH, "stopped", NOON, told=CHAT)) == []
    assert len(told(bury(BOTH, "stopped", NOON, told=OTHER_CHAT))) == 1


def test_a_reason_can_have_words_of_its_own() -> None:
    assert told(bury(BOTH, "full", NOON, line=" and ".join)) == ["a and b"]


@pytest.mark.requirement("P1")
def test_what_a_child_reports_is_laid_by_and_what_a_person_said_is_dead() -> None:
    report = pending(inbound("c", kind=ProvenanceKind.SUBAGENT), "q1")
    kept, entry = lay_by((report,), "stopped", NOON)
    assert kept == KeepInput(inbound_id="c")
    assert isinstance(entry, AppendEntries)
    assert lay_by(BOTH, "stopped", NOON) == bury(BOTH, "stopped", NOON)


def dropped(seen: Snapshot) -> Effects:
    settings = QueueSettings(mode=QueueMode.FOLLOWUP, cap=1, drop=DropPolicy.OLD)
    arrival = samples.arrival(inbound("c", at=NOON + 1))
    return plan(seen, replace(arrival, queue=QueuePolicy(base=settings))).effects


def failed(seen: Snapshot) -> Effects:
    return hand_over(seen, samples.run("q1"), Outcome(state=RunState.FAILED, at=NOON))


def stopped(seen: Snapshot) -> Effects:
    request = StopRequest(reason="enough", by=ALICE, at=NOON)
    return stopping.stop(Tree(session=seen, below=(), runs=()), request).effects


def interrupted(seen: Snapshot) -> Effects:
    run = replace(samples.run("q1"), progress=Progress(recoveries=9))
    return recover(RunSnapshot(run=run, session=seen), Recovery(now=NOON, announce=lambda _, __: ""))


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("ending", [dropped, failed, stopped, interrupted])
def test_whatever_ends_a_message_ends_what_was_merged_into_it(ending: Callable[[Snapshot], Effects]) -> None:
    seen = replace(samples.snapshot(), pending=BOTH[1:], merged=(FELL,))
    assert dead(ending(seen)) == ["a", "b"]
