import pytest

from roost.core.runs import Outcome, RunState


@pytest.mark.parametrize("state", list(RunState))
def test_only_queued_and_running_runs_have_not_ended(state: RunState) -> None:
    assert state.ended is (state not in {RunState.QUEUED, RunState.RUNNING})


def test_only_a_done_run_succeeded() -> None:
    assert [state for state in RunState if Outcome(state=state, at=1).succeeded] == [RunState.DONE]
