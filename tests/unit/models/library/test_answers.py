import pytest
from pydantic_ai import messages as library
from pydantic_ai.usage import RequestUsage

from roost.core.messages import StopReason, Text, Thinking, ToolCall, Usage
from roost.core.models import UNREADABLE_ARGUMENTS, TextDelta, ThinkingDelta, ToolCallBegun
from roost.models.failures import FILTERED
from roost.models.library.answers import Pieces, usage_of, whole
from roost.testing.clock import NOON
from tests.asking import SPEC


def test_a_character_that_comes_in_halves_is_passed_on_whole() -> None:
    pieces = Pieces()
    events: list[library.ModelResponseStreamEvent] = [
        library.PartStartEvent(index=0, part=library.TextPart(content="a\ud83d")),
        library.PartDeltaEvent(index=0, delta=library.TextPartDelta(content_delta="\ude00b\ud83d")),
        library.PartStartEvent(index=1, part=library.ThinkingPart(content="")),
        library.PartDeltaEvent(index=1, delta=library.ThinkingPartDelta(content_delta="hm\ud83d")),
        library.PartDeltaEvent(index=1, delta=library.ThinkingPartDelta(signature_delta="s")),
        library.PartStartEvent(index=2, part=library.ToolCallPart(tool_name="read", tool_call_id="c")),
    ]
    seen = [piece for event in events for piece in pieces.take(event)]
    assert seen == [TextDelta("a"), TextDelta("😀b"), ThinkingDelta("hm"), ToolCallBegun(id="c", name="read")]
    assert list(pieces.end()) == [ThinkingDelta("\ufffd"), TextDelta("\ufffd")]


def test_arguments_are_read_whether_written_as_text_or_as_an_object() -> None:
    parts = [
        library.ToolCallPart(tool_name="a", tool_call_id="1", args='{"x": 1}'),
        library.ToolCallPart(tool_name="b", tool_call_id="2", args={"x": "\ud83d"}),
        library.ToolCallPart(tool_name="c", tool_call_id="3", args=None),
        library.ToolCallPart(tool_name="d", tool_call_id="4", args="{nonsense"),
    ]
    message = whole(library.ModelResponse(parts=parts, finish_reason="tool_call"), SPEC, "api", NOON)
    assert message.content == (
        ToolCall(id="1", name="a", arguments={"x": 1}),
        ToolCall(id="2", name="b", arguments={"x": "\ufffd"}),
        ToolCall(id="3", name="c", arguments={}),
        ToolCall(id="4", name="d", arguments={UNREADABLE_ARGUMENTS: "{nonsense"}),
    )
    assert message.stop is StopReason.TOOL_USE


def test_empty_parts_and_those_of_no_use_here_are_left_out() -> None:
    parts: list[library.ModelResponsePart] = [
        library.ThinkingPart(content=""),
        library.TextPart(content=""),
        library.ThinkingPart(content="", signature="redacted", provider_name="anthropic"),
        library.FilePart(content=library.BinaryContent(data=b"x", media_type="image/png")),
        library.TextPart(content="ok"),
    ]
    message = whole(library.ModelResponse(parts=parts, finish_reason="stop"), SPEC, "api", NOON)
    assert message.content == (Thinking(thinking="", signature="redacted"), Text("ok"))


@pytest.mark.parametrize("reason", ["content_filter", "error"])
def test_an_answer_that_a_filter_ended_says_so(reason: library.FinishReason) -> None:
    message = whole(library.ModelResponse(parts=[], finish_reason=reason), SPEC, "api", NOON)
    assert (message.stop, message.error) == (StopReason.ERROR, FILTERED)


def test_a_count_that_does_not_add_up_never_goes_below_nothing() -> None:
    usage = RequestUsage(input_tokens=5, cache_read_tokens=9, output_tokens=1)
    assert usage_of(usage) == Usage(input=0, output=1, cache_read=9, total=6)
