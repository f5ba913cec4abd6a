"""The standard-library scanner; what every scanner must find is in the contract suite."""

from roost.core.credentials import Check, Rule
from roost.core.redaction import Span
from roost.scanners.stdlib import StdlibScanner

TOKEN = Rule(name="token", pattern=r"\b(tk-[a-z0-9]{4,})", anchors=("tk-",))
FOLDED = Rule(
    name="folded", pattern="(?i:name)=([a-z0-9]{4,})", anchors=("name",), folded=True, check=Check.MIXED
)
DIGITS = Rule(name="digits", pattern=r"\b([0-9]{6})\b")


def test_a_rule_is_tried_at_each_of_its_anchors() -> None:
    assert StdlibScanner((TOKEN,)).find("tk-a tk-abcd xtk-abcd") == [Span(5, 12, "token")]


def test_ignoring_case_keeps_positions_where_lower_case_is_longer() -> None:
    text = "İİİ NAME=abc4"
    assert len(text.lower()) > len(text)
    assert StdlibScanner((FOLDED,)).find(text) == [Span(9, 13, "folded")]


def test_a_rule_without_anchors_is_tried_everywhere() -> None:
    assert StdlibScanner((DIGITS,)).find("a 123456 b 1234567") == [Span(2, 8, "digits")]


def test_a_match_inside_an_accepted_one_is_searched_again_behind_it() -> None:
    wide = Rule(name="wide", pattern="([a-z]+ tk-[a-z]+)", anchors=("see",))
    spans = StdlibScanner((wide, TOKEN)).find("see tk-abcd, tk-efgh")
    assert [span.rule for span in spans] == ["wide", "token"]


def test_scanning_goes_on_inside_a_refused_match() -> None:
    assert StdlibScanner((FOLDED, DIGITS)).find("name=abcd name=123456") == [Span(15, 21, "digits")]
