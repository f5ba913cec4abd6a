"""What models write, made fit to be kept."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.messages import ToolCall
from roost.core.models import UNREADABLE_ARGUMENTS, unreadable_arguments
from roost.models.arguments import PieceMender, mended, read_arguments

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=12)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("  ", {}),
        ("null", {}),
        ("{}", {}),
        ('{"a": [1, "b", null, true]}', {"a": [1, "b", None, True]}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": NaN, "b": -Infinity, "c": 1e999}', {"a": None, "b": None, "c": None}),
        ('{"a": 123456789012345678901234567890}', {"a": 1.2345678901234568e29}),
        ('{"a": 9223372036854775807}', {"a": 9223372036854775807}),
        ('{"a": 9223372036854775808}', {"a": 9223372036854775808.0}),
        (f'{{"a": 1{"0" * 5000}}}', {"a": None}),
        ('{"a": "\\ud800x"}', {"a": "\ufffdx"}),
        ('{"a": "\ud83d\ude00"}', {"a": "😀"}),
        ('{"\\udfff": 1}', {"\ufffd": 1}),
    ],
)
def test_arguments_are_read_as_they_can_be_kept(text: str, arguments: dict[str, object]) -> None:
    assert read_arguments(text) == arguments
    orjson.dumps(read_arguments(text))


@pytest.mark.parametrize("text", ['{"a": ', "[1]", '"text"', "7", "read(a)", '{"a":' * 2000, "[" * 100_000])
def test_what_is_no_object_is_kept_for_the_model_to_mend(text: str) -> None:
    assert read_arguments(text) == {UNREADABLE_ARGUMENTS: text}
    assert unreadable_arguments(ToolCall(id="1", name="t", arguments=read_arguments(text))) == text


def test_half_characters_are_joined_where_they_meet_and_replaced_where_they_do_not() -> None:
    assert mended("plain") == "plain"
    assert mended("\ud83d\ude00!") == "😀!"
    assert mended("a\ud83db\ude00c") == "a\ufffdb\ufffdc"


@given(st.lists(ANY_TEXT, max_size=6))
def test_mending_in_pieces_gives_what_mending_the_whole_gives(pieces: list[str]) -> None:
    mender = PieceMender()
    joined = "".join(map(mender.feed, pieces)) + mender.end()
    assert joined == mended("".join(pieces))
    joined.encode()


def test_a_character_split_over_two_pieces_is_whole_again() -> None:
    mender = PieceMender()
    assert (mender.feed("a\ud83d"), mender.feed("\ude00b"), mender.end()) == ("a", "😀b", "")
    assert (mender.feed("\ud83d"), mender.end()) == ("", "\ufffd")
