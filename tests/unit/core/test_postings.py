from dataclasses import replace

import pytest

from roost.core.effects import AppendEntries
from roost.core.endings import Ending
from roost.core.firings import Firing, FiringState, PutFiring
from roost.core.messages import ProvenanceKind, UserMessage, text_of
from roost.core.postings import fired
from roost.core.runs import Outcome, RunState
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.sources import cron_key
from roost.testing.builders import MAIN, run, session

KEY = cron_key("main", "j")
FIRING = Firing(id="f", job_id="j", due_at=1, at=1, state=FiringState.STARTED, key=KEY, run_id="r")
SNAPSHOT = RunSnapshot(run=run("r", KEY), session=Snapshot(key=KEY), firing=FIRING)
POSTING = replace(SNAPSHOT, audience=Snapshot(key=MAIN, session=session()))


def ending(said: str | None = "sunny", state: RunState = RunState.DONE, *, yielded: bool = False) -> Ending:
    outcome = Outcome(state=state, at=9, yielded=yielded)
    return Ending(outcome=outcome, announce=lambda completion, written: "", reply=said)


def test_a_run_that_no_job_is_behind_leaves_nothing() -> None:
    assert fired(replace(SNAPSHOT, firing=None), ending()) == ()


def test_a_run_that_goes_on_is_not_over() -> None:
    assert fired(POSTING, ending(yielded=True)) == ()


def test_its_end_is_written_down() -> None:
    (put,) = fired(SNAPSHOT, ending())
    assert isinstance(put, PutFiring)
    assert (put.firing.state, put.firing.summary) == (FiringState.OK, "sunny")


def test_what_it_said_is_posted_as_no_persons_word() -> None:
    _, posted = fired(POSTING, ending())
    assert isinstance(posted, AppendEntries)
    (draft,) = posted.drafts
    assert posted.key == MAIN
    assert isinstance(draft.body, UserMessage)
    assert (text_of(draft.body), draft.run_id) == ("sunny", None)
    assert draft.body.provenance.kind is ProvenanceKind.SCHEDULE
    assert draft.body.provenance.source_session == str(KEY)


@pytest.mark.parametrize("said", [ending("HEARTBEAT_OK"), ending(None), ending("no", RunState.FAILED)])
def test_nothing_is_posted_where_nothing_was_said(said: Ending) -> None:
    assert len(fired(POSTING, said)) == 1


def test_nothing_is_posted_into_a_session_that_is_gone() -> None:
    assert len(fired(replace(POSTING, audience=Snapshot(key=MAIN)), ending())) == 1
