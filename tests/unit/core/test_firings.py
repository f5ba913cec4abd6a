from dataclasses import replace

import pytest

from roost.core.firings import SUMMARY_CHARS, Firing, FiringState, ended, settled
from roost.core.keys import SessionKey
from roost.core.runs import Outcome, RunState
from roost.testing.builders import run

STARTED = Firing(
    id="f",
    job_id="j",
    due_at=1,
    at=2,
    state=FiringState.STARTED,
    key=SessionKey.named("main", "main"),
    run_id="r",
)
WELL, ILL = Outcome(state=RunState.DONE, at=9), Outcome(state=RunState.TIMEOUT, at=9)


def test_one_that_went_well_keeps_what_was_said_in_short() -> None:
    after = ended(STARTED, WELL, "x" * 3_000)
    assert (after.state, after.ended_at, after.error) == (FiringState.OK, 9, None)
    assert after.summary == "x" * SUMMARY_CHARS


@pytest.mark.parametrize(("error", "told"), [("boom", "boom"), (None, "timeout")])
def test_one_that_failed_says_why(error: str | None, told: str) -> None:
    after = ended(STARTED, replace(ILL, error=error))
    assert (after.state, after.error, after.summary) == (FiringState.ERROR, told, None)


def test_what_is_settled_stays() -> None:
    after = ended(STARTED, WELL)
    assert ended(after, ILL) is after


def test_it_stands_as_its_run_stands() -> None:
    going_on = run("r")
    assert settled(STARTED, going_on, 5) is STARTED
    killed = replace(going_on, state=RunState.KILLED, outcome=Outcome(state=RunState.KILLED, at=7))
    assert settled(STARTED, killed, 5) == replace(
        STARTED, state=FiringState.ERROR, ended_at=7, error="killed"
    )
    gone = settled(STARTED, None, 5)
    assert (gone.state, gone.ended_at, gone.error) == (FiringState.ERROR, 5, "its run is not known any more")


def test_one_without_a_run_is_what_it_is() -> None:
    event = replace(STARTED, run_id=None)
    assert settled(event, None, 5) is event


def test_what_is_over_began_like_everything_else() -> None:
    over = ended(STARTED, WELL, "sunny")
    assert over.begun == STARTED
