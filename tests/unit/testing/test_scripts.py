"""What a model is told to do."""

from roost.core.messages import StopReason, Text, Thinking, ToolCall, Usage
from roost.testing.scripts import (
    CallTool,
    Say,
    Script,
    Spend,
    Stop,
    Think,
    calls,
    content_of,
    says,
    stop_of,
    usage_of,
)

CALL = ToolCall(id="1", name="read", arguments={})


def test_a_text_is_said_word_by_word() -> None:
    assert says("a bc d") == [Say("a "), Say("bc "), Say("d")]
    assert says("") == []
    assert says("a", usage=Usage(input=1)) == [Say("a"), Spend(Usage(input=1))]


def test_the_content_is_thinking_text_and_calls() -> None:
    script: Script = [Say("a"), Think("h"), CallTool(CALL), Say("b"), Think("m")]
    assert content_of(script) == (Thinking(thinking="hm"), Text("ab"), CALL)
    assert content_of([]) == ()


def test_the_last_usage_counts() -> None:
    assert usage_of([Spend(Usage(input=1)), Spend(Usage(input=2))]) == Usage(input=2)
    assert usage_of([]) == Usage()


def test_an_answer_stops_for_its_calls_unless_told_otherwise() -> None:
    assert stop_of([Say("a")]) is StopReason.STOP
    assert stop_of(calls(CALL)) is StopReason.TOOL_USE
    assert stop_of([CallTool(CALL), Stop(StopReason.LENGTH)]) is StopReason.LENGTH
