"""Quoting of one part of a key: as little as possible, and always undone."""

import pytest

from roost.core import keytext
from roost.core.keytext import Quoting

HIDES_X = Quoting.against("x")


@pytest.mark.parametrize("part", ["plain", "a:b", "100%", "%41", "%3a", "%78y", "é😀", "in side", "%", "%7"])
def test_a_part_without_structure_is_written_as_it_is(part: str) -> None:
    assert keytext.NAME.write(part) == part
    assert keytext.NAME.read(part) == part


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("ax", "a%78"),
        ("X", "%58"),
        ("%x", "%25%78"),
        ("%78", "%2578"),
        ("%2578", "%252578"),
        ("x%78", "%78%2578"),
        (" a", "%20a"),
        ("a\u3000", "a%E3%80%80"),
        ("a\x00b\x9f", "a%00b%C2%9F"),
    ],
)
def test_what_would_be_misread_is_encoded_and_read_back(part: str, text: str) -> None:
    assert HIDES_X.write(part) == text
    assert HIDES_X.read(text) == part


@pytest.mark.parametrize("text", ["%58a%41", "%5a", "%FF%78", "a%20b", "%78%", "%25"])
def test_an_escape_that_writing_never_makes_stands_for_itself(text: str) -> None:
    assert HIDES_X.read(text) == text


def test_a_verbatim_part_is_never_touched() -> None:
    for part in ("%78", " a:thread:b ", "%2578"):
        assert keytext.VERBATIM.write(part) == keytext.VERBATIM.read(part) == part


def test_a_letter_that_only_looks_like_one_of_a_word_is_not_structure() -> None:
    assert keytext.CHANNEL.write("hoo\N{KELVIN SIGN}") == "hoo\N{KELVIN SIGN}"
    assert keytext.ACCOUNT.write("\N{LATIN SMALL LETTER LONG S}lash") == "\N{LATIN SMALL LETTER LONG S}lash"
    assert keytext.CHANNEL.write("HOOK") == "%48OOK"


@pytest.mark.parametrize("depth", [1, 2, 3, 100])
def test_an_escape_of_an_escape_is_told_from_it(depth: int) -> None:
    part = "%" + "25" * depth + "78"
    assert HIDES_X.write(part) == "%25" + part[1:]
    assert HIDES_X.read(HIDES_X.write(part)) == part
