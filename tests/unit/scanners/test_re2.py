"""The RE2 scanner; what every scanner must find is in the contract suite."""

from roost.core.credentials import Check, Rule
from roost.core.redaction import Span
from roost.scanners.re2 import Re2Scanner

TOKEN = Rule(name="token", pattern=r"\b(tk-[a-z0-9]{4,})", anchors=("tk-",))
NAMED = Rule(name="named", pattern="name=([a-z0-9]{4,})", anchors=("name=",), check=Check.MIXED)


def test_positions_in_ascii_text_are_those_of_its_bytes() -> None:
    assert Re2Scanner((TOKEN,)).find("a tk-abcd b") == [Span(2, 9, "token")]


def test_positions_behind_longer_characters_count_characters() -> None:
    text = "é数\ud800 tk-abcd 😀 tk-efgh"
    spans = Re2Scanner((TOKEN,)).find(text)
    assert [text[span.start : span.end] for span in spans] == ["tk-abcd", "tk-efgh"]


def test_the_earlier_of_two_rules_counts_at_the_same_place() -> None:
    second = Rule(name="second", pattern="(tk-[a-z]{2})", anchors=("tk-",))
    assert Re2Scanner((TOKEN, second)).find("tk-abcd tk-ef")[0].rule == "token"
    assert Re2Scanner((second, TOKEN)).find("tk-abcd tk-ef")[0].rule == "second"


def test_scanning_goes_on_inside_a_refused_match() -> None:
    assert Re2Scanner((NAMED,)).find("name=abcd name=abc4") == [Span(15, 19, "named")]


def test_a_word_boundary_sees_what_stands_before_the_place_scanning_goes_on() -> None:
    glued = Rule(name="glued", pattern="(x{4})", anchors=("x",))
    assert [span.rule for span in Re2Scanner((glued, TOKEN)).find("xxxxtk-abcd")] == ["glued"]
