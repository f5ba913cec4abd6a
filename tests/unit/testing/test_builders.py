from roost.core.effects import AcceptInput, OpenSession, QueueRun
from roost.core.inbound import InputMode
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, ToolResult, UserMessage, text_of, tool_calls
from roost.core.runs import RunState
from roost.core.sessions import OpenedBy, SessionKind
from roost.core.snapshots import Snapshot
from roost.testing import builders
from roost.testing.builders import MAIN, Names
from roost.testing.clock import NOON

SIDE = SessionKey.named("main", "side")


def test_names_count_up_for_each_kind() -> None:
    names = Names()
    assert [names("run"), names("run"), names("entry"), names("run")] == [
        "run-1",
        "run-2",
        "entry-1",
        "run-3",
    ]
    assert Names()("run") == "run-1"


def test_a_session_is_main_or_other_and_hangs_below_its_parent() -> None:
    assert builders.session().facts.kind is SessionKind.MAIN
    child = builders.session(SIDE, at=5, parent=MAIN)
    assert child.facts.kind is SessionKind.OTHER
    assert (child.lineage.parent, child.lineage.depth) == (MAIN, 1)
    assert (child.times.created, child.times.updated, child.times.interacted) == (5, 5, 5)


def test_the_first_generation_opens_a_session_and_later_ones_reset_it() -> None:
    assert builders.generation(MAIN, "s-1").opened_by is OpenedBy.FIRST
    assert builders.generation(MAIN, "s-2", 2).opened_by is OpenedBy.RESET
    opening = builders.opening(builders.session(at=9), "s-1")
    assert (opening.generation.session_id, opening.generation.opened_at) == ("s-1", 9)


def test_a_run_is_ready_when_it_is_queued_unless_told_otherwise() -> None:
    assert builders.run("r-1", at=7).ready_at == 7
    assert builders.run("r-1", at=7, ready_at=0).ready_at == 0
    assert builders.run("r-1").state is RunState.QUEUED


def test_drafts_say_what_they_are_named_after() -> None:
    said, answered = builders.said("e-1", "hello"), builders.answered("e-2", "hi")
    called = builders.called("e-3", "c-1", "read")
    returned = builders.returned("e-4", "c-1", "read", "out")
    assert isinstance(said.body, UserMessage)
    assert isinstance(answered.body, AssistantMessage)
    assert isinstance(called.body, AssistantMessage)
    assert isinstance(returned.body, ToolResult)
    assert (text_of(said.body), text_of(answered.body), text_of(returned.body)) == ("hello", "hi", "out")
    (call,) = tool_calls(called.body)
    assert (call.id, call.name, returned.body.call_id) == ("c-1", "read", "c-1")


def test_the_plainest_decision_opens_the_session_once_and_a_run_a_message() -> None:
    message = builders.inbound("m-1", SIDE, text="hello", at=NOON + 1)
    decide = builders.accept(message, "r-1", "s-1")
    opening, queue, accept = decide(Snapshot(key=SIDE))
    assert isinstance(opening, OpenSession)
    assert isinstance(queue, QueueRun)
    assert (opening.session.key, queue.run.key, queue.run.queued_at) == (SIDE, SIDE, NOON + 1)
    assert accept == AcceptInput(inbound=message, run_id="r-1", mode=InputMode.OPEN)
    assert decide(Snapshot(key=SIDE, session=opening.session)) == (queue, accept)


def test_an_end_is_good_unless_told_otherwise() -> None:
    assert builders.done("r-1").outcome.state is RunState.DONE
    assert builders.done("r-1", state=RunState.KILLED, at=5).outcome.at == 5


def test_a_delivery_goes_from_a_session_to_an_address() -> None:
    delivery = builders.delivery("d-1", SIDE, text="hello")
    assert (delivery.key, delivery.address, delivery.text) == (SIDE, builders.CHAT, "hello")
