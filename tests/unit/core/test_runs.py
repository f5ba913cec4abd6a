from dataclasses import replace

import pytest

from roost.core.runs import Outcome, Request, RunKind, RunState
from tests import samples


@pytest.mark.parametrize("state", list(RunState))
def test_only_queued_and_running_runs_have_not_ended(state: RunState) -> None:
    assert state.ended is (state not in {RunState.QUEUED, RunState.RUNNING})


def test_only_a_done_run_succeeded() -> None:
    assert [state for state in RunState if Outcome(state=state, at=1).succeeded] == [RunState.DONE]


@pytest.mark.parametrize(
    ("request_", "due"),
    [
        (Request(), None),
        (Request(deadline=50), 50),
        (Request(longest_ms=20), 30),
        (Request(deadline=50, longest_ms=20), 30),
        (Request(deadline=15, longest_ms=20), 15),
    ],
)
def test_a_run_is_due_at_its_deadline_or_when_it_took_as_long_as_it_may(
    request_: Request, due: int | None
) -> None:
    assert replace(samples.run(request=request_), started_at=None).due == request_.deadline
    assert replace(samples.run(request=request_), started_at=10).due == due


def test_turns_answer_people_and_nothing_else_does() -> None:
    assert {kind for kind in RunKind if kind.answers} == {
        RunKind.TURN,
        RunKind.GREETING,
        RunKind.CONTINUATION,
    }
