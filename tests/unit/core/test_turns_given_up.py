"""Turns that waited for children and are given up: what those found that have ended is told all the same."""

from dataclasses import replace

import pytest

from roost.core.children import given_up
from roost.core.effects import AcknowledgeCompletion, AddDelivery, AppendEntries, Effects
from roost.core.endings import Ending
from roost.core.exchanges import Completion, CompletionStatus
from roost.core.messages import UserMessage, text_of
from roost.core.runs import Outcome, Request, RunState
from roost.core.snapshots import RunSnapshot
from tests import samples
from tests.samples import CHAT, CHILD, MAIN, NOON, OTHER_CHAT

TURN = samples.run("b1", request=Request(reply_to=CHAT))
WAITED = replace(TURN, outcome=Outcome(state=RunState.DONE, at=NOON, yielded=True))
OVER = Ending(
    outcome=Outcome(state=RunState.TIMEOUT, at=NOON, error="its time was over"),
    announce=lambda completion, written: "of the turn itself",
    met=lambda session: session.route,
)

pytestmark = pytest.mark.requirement("P1", "D21")


def ended(name: str, status: CompletionStatus, told_at: int | None = None) -> Completion:
    completion = samples.completion(name)
    settled = None if status is CompletionStatus.PENDING else NOON
    return replace(
        completion, status=status, result=f"found by {name}", settled_at=settled, acknowledged_at=told_at
    )


CHILDREN = (
    ended("good", CompletionStatus.OK),
    ended("bad", CompletionStatus.ERROR),
    ended("stopped", CompletionStatus.KILLED),
    ended("known", CompletionStatus.OK, told_at=NOON),
    ended("busy", CompletionStatus.PENDING),
)


def told(effects: Effects) -> list[str]:
    drafts = (draft for effect in effects if isinstance(effect, AppendEntries) for draft in effect.drafts)
    return [text_of(draft.body) for draft in drafts if isinstance(draft.body, UserMessage)]


def acknowledged(effects: Effects) -> list[str]:
    return [effect.child_run for effect in effects if isinstance(effect, AcknowledgeCompletion)]


def test_whoever_has_ended_and_was_not_heard_is_told_of_in_the_transcript_and_the_chat() -> None:
    effects = given_up(RunSnapshot(run=WAITED, session=samples.snapshot(MAIN), spawned=CHILDREN), OVER)
    assert acknowledged(effects) == ["good", "bad", "stopped"]
    good, bad, stopped = told(effects)
    assert "Status: success" in good
    assert "found by good" in good
    assert "Status: error" in bad
    sent = [effect.delivery for effect in effects if isinstance(effect, AddDelivery)]
    assert [(one.text, one.address) for one in sent] == [(good, CHAT), (bad, CHAT)]
    assert "Status: " in stopped


def test_a_turn_that_answers_nowhere_is_told_where_its_session_was_last_met() -> None:
    nowhere = replace(WAITED, request=Request())
    session = samples.snapshot(MAIN)
    assert session.session is not None
    met = replace(session, session=session.session._replace(route=OTHER_CHAT))
    effects = given_up(RunSnapshot(run=nowhere, session=met, spawned=CHILDREN[:1]), OVER)
    assert [one.delivery.address for one in effects if isinstance(one, AddDelivery)] == [OTHER_CHAT]


def test_a_child_has_no_chat_to_be_told_in() -> None:
    waited = replace(WAITED, key=CHILD)
    effects = given_up(RunSnapshot(run=waited, session=samples.snapshot(CHILD), spawned=CHILDREN[:1]), OVER)
    (line,) = told(effects)
    assert "found by good" in line
    assert [one for one in effects if isinstance(one, AddDelivery)] == []


def test_of_a_turn_that_did_not_wait_nothing_is_told() -> None:
    assert given_up(RunSnapshot(run=TURN, session=samples.snapshot(MAIN), spawned=CHILDREN), OVER) == ()
