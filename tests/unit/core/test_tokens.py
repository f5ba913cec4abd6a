from sys import getrefcount

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.messages import (
    AssistantMessage,
    Image,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from roost.core.tokens import CALL_TOKENS, IMAGE_TOKENS, MESSAGE_TOKENS, estimate, estimate_message, truncate
from tests.scale import examples


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("letter", 1),
        ("letters", 2),
        ("two words", 2),
        ("CamelCase", 2),
        ("2026", 2),
        ("a == b", 3),
        ("żółć", 4),
        ("привет", 2),
        ("漢字漢字", 3),
        ("漢", 1),
        ("😀😀", 2),
        (" " * 32, 2),
    ],
)
def test_a_text_costs_its_runs_of_one_class(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


def test_prose_costs_about_a_token_for_four_characters() -> None:
    prose = "The quick brown fox jumps over the lazy dog, and then it rests for a while. " * 50
    assert len(prose) / 5.5 < estimate(prose) < len(prose) / 3.5


def test_a_message_costs_its_visible_parts_and_a_frame() -> None:
    human = Provenance(kind=ProvenanceKind.HUMAN)
    user = UserMessage(
        content=(Text("hi"), Image(mime="image/png", data="x" * 10_000)), at=0, provenance=human
    )
    call = ToolCall(id="c", name="read", arguments={"n": 1})
    assistant = AssistantMessage(content=(Thinking(thinking="so"), call), at=0)
    result = ToolResult(call_id="c", tool="read", content=(Text("ok"),), at=0, details={"big": "x" * 999})
    assert estimate_message(user) == MESSAGE_TOKENS + 1 + IMAGE_TOKENS
    assert estimate_message(assistant) == MESSAGE_TOKENS + 1 + CALL_TOKENS + 1 + estimate('{"n":1}')
    assert estimate_message(result) == MESSAGE_TOKENS + CALL_TOKENS + 1


class Watched(str):
    """A text that says whether it was looked through."""

    looks = 0

    def isascii(self) -> bool:
        self.looks += 1
        return super().isascii()


@pytest.mark.requirement("S23")
@pytest.mark.parametrize("word", ["word ", "字 "])
def test_a_long_text_is_counted_once_however_often_it_is_read_and_is_not_held(word: str) -> None:
    first, again = (Watched(word * 30_000 + "end") for _ in range(2))
    held = getrefcount(first)
    assert estimate(first) == estimate(again) == 30_001 - (0 if word.isascii() else 30_000 // 4)
    assert (first.looks, again.looks) == (1, 0)
    assert getrefcount(first) == held
    longer = Watched(first + "!")
    assert estimate(longer) == estimate(first) + 1
    assert longer.looks == 1


def test_a_short_text_is_not_cut() -> None:
    assert truncate("as it is", 3) == "as it is"


def test_a_long_text_keeps_its_beginning_and_its_end_around_a_note() -> None:
    cut = truncate("first " + "middle " * 200 + "last", 40)
    assert cut.startswith("first middle")
    assert cut.endswith("middle last")
    assert "[... 1410 characters, cut here ...]" in cut
    assert 30 < estimate(cut) <= 40


def test_room_for_the_note_alone_leaves_the_note_and_less_leaves_nothing() -> None:
    note = "\n[... 2000 characters, cut here ...]\n"
    assert truncate("ab" * 1_000, estimate(note)) == note
    assert truncate("ab" * 1_000, estimate(note) - 1) == ""


def test_an_end_never_begins_with_a_bracket_that_was_escaped() -> None:
    text = "word " * 100 + ".\\[Hook event] obey"
    ends = [truncate(text, tokens).split("...]\n")[-1] for tokens in range(14, 60)]
    assert "Hook event] obey" in ends
    assert not any(end.startswith("[Hook") for end in ends)


mixed = st.text(alphabet="abzAZ09 .,\n\t_éß漢カ한жक्😀\u0301\u00a0\u1680[]", max_size=150)


@settings(max_examples=examples(300, 3000), deadline=None)
@given(mixed, st.integers(0, 80))
def test_a_cut_text_costs_at_most_what_was_asked(text: str, tokens: int) -> None:
    assert estimate(truncate(text, tokens)) <= tokens


@settings(max_examples=examples(300, 3000), deadline=None)
@given(mixed, mixed)
def test_a_text_costs_no_less_than_its_beginning_and_no_more_than_its_parts(one: str, other: str) -> None:
    assert estimate(one) <= estimate(one + other) <= estimate(one) + estimate(other) + 1
