from dataclasses import replace

import pytest

from roost.core.messages import (
    AssistantMessage,
    Compaction,
    Message,
    Notice,
    Provenance,
    ProvenanceKind,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from roost.core.recordings import Answer, first_difference, recorded
from roost.testing.builders import HUMAN


def user(text: str) -> UserMessage:
    return UserMessage(content=(Text(text),), at=1, provenance=HUMAN)


def answer(text: str, *calls: str, stop: StopReason = StopReason.STOP) -> AssistantMessage:
    asked = (ToolCall(id=call, name=f"tool {call}", arguments={}) for call in calls)
    return AssistantMessage(content=(Text(text), *asked), at=2, stop=stop)


def result(call: str) -> ToolResult:
    return ToolResult(call_id=call, tool="t", content=(Text(f"of {call}"),), at=3)


def test_a_turn_is_what_was_said_and_every_answer_to_it() -> None:
    messages: list[Message] = [
        user("a"),
        user("b"),
        answer("x", "1"),
        result("1"),
        answer("y"),
        user("c"),
        answer("z"),
    ]
    found = recorded(messages)
    assert [len(turn.opening) for turn in found.turns] == [2, 1]
    assert [len(turn.answers) for turn in found.turns] == [2, 1]
    assert list(found.messages) == messages
    assert (found.left_out, found.tools) == (0, frozenset({"tool 1"}))


def test_what_was_told_and_began_no_turn_is_left_out_wherever_it_stands() -> None:
    told = replace(user("Status: success"), provenance=Provenance(kind=ProvenanceKind.SUBAGENT))
    later = replace(told, content=(Text("Status: timeout"),))
    found = recorded(
        [user("a"), answer("x"), told, user("b"), later, answer("y"), told, later, answer("z"), told]
    )
    assert [turn.opening for turn in found.turns] == [(user("a"),), (user("b"),), (later,)]
    assert found.left_out == 4


def test_what_is_said_while_tools_work_belongs_to_the_answer_before() -> None:
    found = recorded([user("a"), answer("x", "1"), result("1"), user("quick"), user("now"), answer("y")])
    (turn,) = found.turns
    assert turn.answers[0].heard == (user("quick"), user("now"))


def test_results_stand_in_the_order_of_their_calls() -> None:
    found = recorded([user("a"), answer("x", "1", "2"), result("2"), result("1"), answer("y")])
    assert found.turns[0].answers[0].results == (result("1"), result("2"))


@pytest.mark.parametrize(
    "broken",
    [
        [answer("x", stop=StopReason.ABORTED)],
        [answer("x", stop=StopReason.ERROR)],
        [answer("x", "1"), answer("y")],
        [answer("x", "1"), result("1")],
        [answer("x", "1"), result("2"), result("1"), result("1")],
        [],
    ],
)
def test_nothing_is_played_from_a_turn_on_that_broke_off(broken: list[Message]) -> None:
    found = recorded([user("a"), answer("x"), user("b"), *broken])
    assert [turn.opening for turn in found.turns] == [(user("a"),)]
    assert found.left_out == 1 + len(broken)
    later = recorded(
        [user("a"), answer("x"), user("b"), answer("y", stop=StopReason.ERROR), user("c"), answer("z")]
    )
    assert len(later.turns) == 1


def test_a_turn_may_end_with_a_yield() -> None:
    call = ToolCall(id="1", name="sessions_yield", arguments={})
    yielded = AssistantMessage(content=(call,), at=2)
    found = recorded([user("a"), yielded, result("1")])
    assert len(found.messages) == 3


def test_an_answer_that_nobody_asked_for_is_left_out() -> None:
    found = recorded(
        [answer("hello"), result("0"), user("a"), answer("x"), answer("by the way", "1"), result("1")]
    )
    assert found.messages == (user("a"), answer("x"))
    assert found.left_out == 4


def test_what_the_gateway_itself_noted_is_no_part_of_it() -> None:
    summary = Compaction(summary="s", first_kept_id=None, tokens_before=1, at=1)
    found = recorded([Notice(kind="reset", at=1, data={}), user("a"), summary, answer("x")])
    assert (len(found.messages), found.left_out) == (2, 0)


def test_an_answer_is_complete_with_the_result_of_each_call() -> None:
    asked = answer("x", "1")
    assert not Answer(message=asked).complete
    assert Answer(message=asked, results=(result("1"),)).complete


@pytest.mark.requirement("F10")
def test_the_first_difference_is_shown_with_both_sides() -> None:
    before: list[Message] = [user("a"), answer("x"), answer("y")]
    assert first_difference(before, [replace(one, at=99) for one in before]) is None
    other = first_difference(before, [user("a"), answer("X"), answer("Y")])
    assert other is not None
    assert other.number == 2
    assert '"x"' in (other.recorded or "")
    assert '"X"' in (other.replayed or "")
    missing = first_difference(before, before[:2])
    assert missing is not None
    assert (missing.number, missing.replayed) == (3, None)
