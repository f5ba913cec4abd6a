from dataclasses import replace

import pytest

from roost.core.inbound import InboundRecord, InboundState
from roost.core.messages import AssistantMessage, StopReason, Text
from roost.core.runs import Outcome, Run, RunState
from roost.engine.waits import Waited
from roost.server.endings import Ending, Fate, ending
from roost.testing import builders

RECORD = InboundRecord(inbound=builders.inbound("i-1"), state=InboundState.TAKEN, run_id="r-1")


def run(state: RunState, error: str | None = None) -> Run:
    return replace(builders.run("r-1"), state=state, outcome=Outcome(state=state, at=1, error=error))


@pytest.mark.parametrize(
    ("state", "fate"),
    [(RunState.FAILED, Fate.ERROR), (RunState.KILLED, Fate.TIMEOUT), (RunState.TIMEOUT, Fate.TIMEOUT)],
)
def test_a_run_without_an_answer_is_told_with_its_reason(state: RunState, fate: Fate) -> None:
    assert ending(Waited(record=RECORD, run=run(state, "why"), over=True)) == Ending(fate=fate, reason="why")
    unexplained = ending(Waited(record=RECORD, run=run(state), over=True))
    assert unexplained == Ending(fate=fate, reason=f"the run ended as {state}")


def test_an_answer_is_what_the_run_said() -> None:
    said = AssistantMessage(content=(Text("words"),), at=1, stop=StopReason.LENGTH)
    waited = Waited(record=RECORD, run=run(RunState.DONE), over=True, words=said)
    assert ending(waited) == Ending(fate=Fate.OK, said="words", stop=StopReason.LENGTH)
    silent = Waited(record=RECORD, run=run(RunState.DONE), over=True)
    assert ending(silent) == Ending(fate=Fate.OK)


def test_a_command_is_answered_without_a_run() -> None:
    record = replace(RECORD, state=InboundState.ANSWERED, run_id=None, answer="done")
    assert ending(Waited(record=record, over=True)) == Ending(fate=Fate.OK, said="done")


def test_a_message_that_was_lost_says_why() -> None:
    dead = replace(RECORD, state=InboundState.DEAD)
    assert ending(Waited(record=dead, over=True)) == Ending(
        fate=Fate.ERROR, reason="the message was not taken"
    )
    full = replace(dead, reason="the queue is full")
    assert ending(Waited(record=full, over=True)).reason == "the queue is full"


def test_what_is_not_over_has_no_answer_yet() -> None:
    assert ending(Waited(record=RECORD)).fate is Fate.TIMEOUT


def test_a_message_whose_session_is_gone_says_so() -> None:
    assert ending(Waited(record=RECORD, over=True)) == Ending(
        fate=Fate.ERROR, reason="the message was taken, and its session is gone"
    )
