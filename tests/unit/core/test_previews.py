from roost.core.messages import AssistantMessage, Image, Text, ToolCall
from roost.core.models import ModelRef
from roost.core.previews import (
    ModelAsked,
    Piece,
    Preview,
    RunBegan,
    RunOver,
    SpokenText,
    SpokenThinking,
    ToolBegan,
    ToolOver,
    ToolPrinted,
    stream_of,
    weight,
)
from roost.core.tools import ToolOutcome
from roost.testing import builders
from roost.testing.builders import MAIN

CALL = ToolCall(id="c1", name="exec", arguments={})


def pieces(answer: int = 1, text: str = "four") -> tuple[Piece, ...]:
    return (
        SpokenText(key=MAIN, run_id="r", answer=answer, offset=0, text=text),
        SpokenThinking(key=MAIN, run_id="r", answer=answer, offset=0, text=text),
        ToolPrinted(key=MAIN, run_id="r", call_id=f"c{answer}", offset=0, text=text),
    )


def test_streams_are_told_apart_by_their_kind_and_by_what_they_belong_to() -> None:
    streams = {stream_of(piece) for piece in (*pieces(1), *pieces(2))}
    assert len(streams) == 6
    assert {stream_of(piece) for piece in pieces(1, "more")} < streams


def test_a_preview_weighs_what_it_holds() -> None:
    words = AssistantMessage(content=(Text("12345"),), at=0)
    outcome = ToolOutcome(content=(Text("123"), Image(mime="image/png", data="")))
    light: tuple[Preview, ...] = (
        RunBegan(run=builders.run("r")),
        RunOver(run=builders.run("r")),
        ModelAsked(key=MAIN, run_id="r", answer=1, model=ModelRef("a", "b")),
        ToolBegan(key=MAIN, run_id="r", call=CALL),
    )
    assert [weight(one) for one in light] == [0] * 4
    assert [weight(one) for one in pieces()] == [4] * 3
    assert weight(RunOver(run=builders.run("r"), words=words)) == 5
    assert weight(ToolOver(key=MAIN, run_id="r", call=CALL, outcome=outcome)) == 3


def test_every_preview_names_its_session_and_its_run() -> None:
    run = builders.run("r")
    assert [(one.key, one.run_id) for one in (RunBegan(run=run), RunOver(run=run))] == [(MAIN, "r")] * 2
