"""A prompt as turns."""

from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Image,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserBlock,
    UserMessage,
)
from roost.models.turns import NOT_SHOWN, Turn, result_images, result_text, shown, turns_of

PICTURE = Image(mime="image/png", data="aGk=")
CALL = ToolCall(id="c1", name="read", arguments={})


def heard(*content: UserBlock) -> UserMessage:
    return UserMessage(content=content, at=1, provenance=Provenance(kind=ProvenanceKind.HUMAN))


def said(*content: AssistantBlock) -> AssistantMessage:
    return AssistantMessage(content=content, at=2)


def result(*content: UserBlock) -> ToolResult:
    return ToolResult(call_id="c1", tool="read", content=content, at=3)


def test_neighbours_of_one_role_are_one_turn_and_results_join_what_is_heard() -> None:
    found = result(Text("x"))
    messages = (heard(Text("a")), heard(Text("b")), said(CALL), found, heard(Text("c")), said(Text("d")))
    assert turns_of(messages) == [
        Turn(heard=[Text("a"), Text("b")]),
        Turn(said=[CALL]),
        Turn(results=[found], heard=[Text("c")]),
        Turn(said=[Text("d")]),
    ]


def test_reasoning_stays_only_where_it_opens_a_turn() -> None:
    thought = Thinking(thinking="hm")
    turns = turns_of((said(thought, Text("a"), thought), said(thought, Text("b"))))
    assert turns == [Turn(said=[thought, Text("a"), Text("b")])]


def test_an_image_no_provider_takes_is_a_note() -> None:
    assert shown(PICTURE) is PICTURE
    assert shown(Text("a")) == Text("a")
    assert shown(Image(mime="image/bmp", data="aGk=")) is NOT_SHOWN
    assert shown(Image(mime="image/png", data="")) is NOT_SHOWN


def test_the_parts_of_a_result_are_its_text_and_its_images() -> None:
    assert result_text(result(Text("x"), PICTURE)) == "x"
    assert result_text(result(PICTURE)) == "[the result of read is an image]"
    assert result_images(result(Text("x"), PICTURE)) == [PICTURE]
