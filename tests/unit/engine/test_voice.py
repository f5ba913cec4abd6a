from dataclasses import replace

import pytest

from roost.core.events import EventKind
from roost.core.feeds import Anchor
from roost.core.messages import AssistantMessage, Text, ToolCall
from roost.core.models import ModelRef
from roost.core.previews import (
    ModelAsked,
    Preview,
    RunBegan,
    RunOver,
    SpokenText,
    SpokenThinking,
    ToolBegan,
    ToolOver,
    ToolPrinted,
)
from roost.core.sessions import Session
from roost.core.tools import ToolOutcome
from roost.engine.ears import Ears
from roost.engine.voice import CUT_SHORT, MOST_HELD, MOST_PRINTED, Holdback, Voice
from roost.testing import builders
from roost.testing.clock import FakeClock

RUN = builders.run("r")
MODEL = ModelRef("scripted", "one")
CALL = ToolCall(id="c", name="exec", arguments={})
DONE = ToolOutcome(content=(Text("ok"),))


class Heard(Ears):
    """Ears that remember what came to them, with its anchor."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.all: list[tuple[Preview, Anchor]] = []

    def hear(self, preview: Preview, anchor: Anchor) -> None:
        self.all.append((preview, anchor))

    @property
    def text(self) -> str:
        return "".join(one.text for one, _ in self.all if isinstance(one, SpokenText))


def speaking(*ears: Ears, session: Session | None = None) -> Voice:
    voice = Voice(RUN, lambda session: list(ears))
    voice.begin(session or builders.session())
    return voice


def test_a_run_is_told_from_its_beginning_to_its_end_each_word_after_what_was_stored_before_it() -> None:
    ears = Heard()
    voice = speaking(ears)
    voice.kept("question")
    voice.asked(MODEL)
    voice.text("Let me ")
    voice.text("see.")
    voice.said()
    voice.kept("answer")
    voice.tool_began(CALL)
    voice.tool_printed(CALL, "line\n")
    voice.tool_over(CALL, DONE)
    voice.kept("result")
    voice.over(RunOver(run=RUN, words=AssistantMessage(content=(), at=0)))
    assert [(type(one), anchor.ref) for one, anchor in ears.all] == [
        (RunBegan, "r"),
        (ModelAsked, "question"),
        (SpokenText, "question"),
        (SpokenText, "question"),
        (ToolBegan, "answer"),
        (ToolPrinted, "answer"),
        (ToolOver, "answer"),
        (RunOver, "r"),
    ]
    assert ears.all[-1][1].kind is EventKind.RUN_ENDED


def test_pieces_say_where_they_begin() -> None:
    ears = Heard()
    voice = speaking(ears)
    for _ in range(2):
        voice.asked(MODEL)
        voice.text("one")
        voice.text(" two")
    spoken = [(one.answer, one.offset, one.text) for one, _ in ears.all if isinstance(one, SpokenText)]
    assert spoken == [(1, 0, "one"), (1, 3, " two"), (2, 0, "one"), (2, 3, " two")]


@pytest.mark.parametrize(
    ("chunks", "shown"),
    [
        (["NO", "_REPLY"], ""),
        (["NO", "T yet"], "NOT yet"),
        (["Done.", "\n", "NO_", "REPLY"], "Done."),
        (["Say ", "NO"], "Say NO"),
        (["HEARTBEAT_OK", " ", "\n"], ""),
        (["`no_reply", "`"], ""),
    ],
)
def test_nothing_is_shown_that_could_still_be_silence_and_nothing_else_is_kept_back(
    chunks: list[str], shown: str
) -> None:
    ears = Heard()
    voice = speaking(ears)
    voice.asked(MODEL)
    for chunk in chunks:
        voice.text(chunk)
        assert shown.startswith(ears.text)
    voice.said()
    assert ears.text == shown


def test_silence_without_end_is_not_looked_at_without_end_and_not_shown() -> None:
    holdback = Holdback()
    shown = holdback.add("Done.")
    for _ in range(MOST_HELD):
        shown += holdback.add(" NO_REPLY")
    assert shown == "Done."
    assert holdback.end(shown) == ""


def test_thinking_is_shown_only_where_it_was_asked_for() -> None:
    quiet, aloud = Heard(), Heard()
    session = builders.session()
    streamed = session._replace(overrides=replace(session.overrides, reasoning="stream"))
    for ears, row in ((quiet, session), (aloud, streamed)):
        voice = speaking(ears, session=row)
        voice.asked(MODEL)
        voice.thinking("hm")
        voice.thinking("m")
        assert any(isinstance(one, SpokenThinking) for one, _ in voice.going_on()) is (ears is aloud)
    assert [one.text for one, _ in aloud.all if isinstance(one, SpokenThinking)] == ["hm", "m"]
    assert not any(isinstance(one, SpokenThinking) for one, _ in quiet.all)


def test_thinking_that_is_not_streamed_is_shown_whole_before_the_first_word() -> None:
    ears, session = Heard(), builders.session()
    whole = session._replace(overrides=replace(session.overrides, reasoning="on"))
    voice = speaking(ears, session=whole)
    for answer in ("NO_REPLY", "four"):
        voice.asked(MODEL)
        voice.thinking("two ")
        voice.thinking("and two")
        voice.text(answer)
        voice.said()
    shown = [(type(one), one.text) for one, _ in ears.all if isinstance(one, SpokenThinking | SpokenText)]
    assert shown == [(SpokenThinking, "two and two"), (SpokenText, "four")]
    voice.kept("answer")
    voice.asked(MODEL)
    voice.text("five")
    assert ears.text == "fourfive"
    assert sum(isinstance(one, SpokenThinking) for one, _ in ears.all) == 1


@pytest.mark.parametrize("size", [MOST_PRINTED - 1, MOST_PRINTED, MOST_PRINTED + 1])
def test_tool_output_is_shown_up_to_a_measure(size: int) -> None:
    ears = Heard()
    voice = speaking(ears)
    voice.tool_began(CALL)
    for _ in range(3):
        voice.tool_printed(CALL, "x" * size)
    voice.tool_printed(CALL, "")
    shown = "".join(one.text for one, _ in ears.all if isinstance(one, ToolPrinted))
    assert shown == "x" * MOST_PRINTED + CUT_SHORT


def test_two_calls_of_one_name_and_id_are_each_told_of() -> None:
    ears = Heard()
    voice = speaking(ears)
    for _ in range(2):
        voice.tool_began(CALL)
    for _ in range(2):
        voice.tool_printed(CALL, "x")
        voice.tool_over(CALL, DONE)
    assert sum(isinstance(one, ToolOver) for one, _ in ears.all) == 2


def test_who_comes_late_is_told_all_that_is_not_stored_yet() -> None:
    voice = speaking()
    voice.asked(MODEL)
    for word in ("one ", "two ", "NO"):
        voice.text(word)
    first = [one for one, _ in voice.going_on()]
    assert [type(one) for one in first] == [RunBegan, ModelAsked, SpokenText]
    assert isinstance(first[-1], SpokenText)
    assert (first[-1].offset, first[-1].text) == (0, "one two")
    voice.said()
    voice.kept("answer")
    voice.tool_began(CALL)
    assert [type(one) for one, _ in voice.going_on()] == [RunBegan, ToolBegan]
    voice.tool_printed(CALL, "a")
    voice.tool_printed(CALL, "b")
    (*_, last) = [one for one, _ in voice.going_on()]
    assert isinstance(last, ToolPrinted)
    assert (last.offset, last.text) == (0, "ab")
    voice.tool_over(CALL, DONE)
    assert [type(one) for one, _ in voice.going_on()] == [RunBegan]
