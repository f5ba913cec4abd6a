"""How secrets are masked in text."""

from collections.abc import Sequence

import pytest

from roost.core.redaction import ExactValues, Prescanned, Span, covered, mask, redact, redact_all, to_cover
from roost.scanners.stdlib import StdlibScanner
from tests.credentials import mixed

SCANNER = StdlibScanner()


class Silent:
    """Finds nothing."""

    def find(self, text: str) -> Sequence[Span]:
        return ()


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("", "***"),
        ("hunter2", "***"),
        ("a" * 17, "***"),
        ("abcdefghijklmnopqr", "abcdef…opqr"),
        ("sk-" + "0123456789" * 3, "sk-012…6789"),
    ],
)
def test_a_short_secret_shows_nothing_and_a_long_one_its_ends(secret: str, shown: str) -> None:
    assert mask(secret) == shown


@pytest.mark.parametrize("shown", ["***", "abcdef…wxyz"])
def test_a_mask_is_its_own_mask(shown: str) -> None:
    assert mask(shown) == shown


@pytest.mark.requirement("D56")
def test_a_key_in_a_text_is_masked_and_the_change_is_told() -> None:
    assert redact(f"use sk-{'a' * 30} now", SCANNER) == ("use sk-aaa…aaaa now", True)


def test_a_text_without_secrets_is_returned_as_it_is() -> None:
    text = "nothing to hide"
    assert redact(text, SCANNER) == (text, False)
    assert redact(text, SCANNER)[0] is text


def test_a_masked_text_is_not_changed_again() -> None:
    masked, _ = redact("Authorization: Bearer abcdefghijklmnopqrstuvwxyz, postgres://a:b@c", SCANNER)
    assert masked == "Authorization: Bearer abcdef…wxyz, postgres://a:***@c"
    assert redact(masked, SCANNER) == (masked, False)


def test_a_secret_that_stands_before_an_ellipsis_is_masked_unless_it_is_the_head_of_a_mask() -> None:
    assert redact("token: Bearer abcdefghijklmnopqrstuvwxyz…", SCANNER)[0] == "token: Bearer abcdef…wxyz…"
    assert redact("https://a:secret@x/ https://a:abcdef…wxyz@x/", SCANNER)[0].count("***") == 1


def test_a_secret_that_masking_uncovers_is_masked_too() -> None:
    class TwoFaced:
        """Finds `b` only where no `a` is left."""

        def find(self, text: str) -> Sequence[Span]:
            letter = "a" if "a" in text else "b"
            start = text.find(letter)
            return [Span(start, start + 1, letter)] if start >= 0 else []

    assert redact("a-b", TwoFaced()) == ("***-***", True)


def test_masking_stops_with_a_scanner_that_never_has_enough() -> None:
    class Greedy:
        def find(self, text: str) -> Sequence[Span]:
            return [Span(0, 1, "greedy")]

    redacted, changed = redact("abc", Greedy())
    assert changed
    assert redacted.endswith("***bc")


@pytest.mark.requirement("P24")
@pytest.mark.parametrize("carrier", ["{}", "say {}!", "x{}x", "数{}数", '"{}"'])
def test_a_configured_value_is_masked_wherever_it_stands(carrier: str) -> None:
    scanner = ExactValues(["open sesame"], Silent())
    assert redact(carrier.format("open sesame"), scanner) == (carrier.format("***"), True)


def test_a_configured_value_is_found_in_the_spelling_of_json_and_of_urls() -> None:
    scanner = ExactValues(['p"ä/ß\n7'], Silent())
    for spelling in ('p"ä/ß\n7', 'p\\"ä/ß\\n7', 'p\\"\\u00e4/\\u00df\\n7', "p%22%C3%A4%2F%C3%9F%0A7"):
        assert scanner.find(f"<{spelling}>") == [Span(1, 1 + len(spelling), "configured")]


def test_every_occurrence_of_every_configured_value_is_found_in_order() -> None:
    scanner = ExactValues(["second", "first!"], Silent())
    assert scanner.find("first! second first!") == [
        Span(0, 6, "configured"),
        Span(7, 13, "configured"),
        Span(14, 20, "configured"),
    ]


def test_a_configured_value_too_short_to_be_a_secret_is_not_looked_for() -> None:
    assert ExactValues(["admin"], Silent()).find("admin") == ()


def test_what_the_inner_scanner_finds_is_kept() -> None:
    key = f"ghp_{mixed(36)}"
    scanner = ExactValues(["open sesame"], SCANNER)
    assert [span.rule for span in scanner.find(f"{key} and open sesame")] == ["github", "configured"]
    assert [span.rule for span in scanner.find(key)] == ["github"]


def test_overlapping_finds_become_one_so_that_nothing_is_left_between() -> None:
    key = f"ghp_{mixed(36)}"
    scanner = ExactValues([key[-8:] + " tail", key[:10]], SCANNER)
    (span,) = scanner.find(f"x {key} tail y")
    assert (span.start, span.end) == (2, 2 + len(key) + 5)


class Counting:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find(self, text: str) -> Sequence[Span]:
        self.asked.append(text)
        return SCANNER.find(text)


def test_texts_without_secrets_are_looked_at_once_and_together() -> None:
    inner = Counting()
    key = f"ghp_{mixed(36)}"
    swept = Prescanned(["first", key, "", "last"], inner)
    assert [bool(swept.find(text)) for text in ("first", key, "", "last", "new")] == [
        False,
        True,
        False,
        False,
        False,
    ]
    assert inner.asked == [f"first\n{key}\n\nlast", key, "new"]


def test_a_text_that_a_secret_of_its_neighbour_seems_to_reach_into_is_looked_at_alone() -> None:
    begins, goes_on = "-----BEGIN PRIVATE KEY-----", "internationalisation matters"
    swept = Prescanned([begins, goes_on], SCANNER)
    assert SCANNER.find(f"{begins}\n{goes_on}")
    assert (list(swept.find(begins)), list(swept.find(goes_on))) == ([], [])


@pytest.mark.requirement("S24")
def test_values_are_covered_in_any_text_and_the_rest_stays_where_it_was() -> None:
    hidden = to_cover(['a "long enough" secret', "short"])
    text = b'{"short": "a \\"long enough\\" secret", "x": 1}'
    assert covered(text, hidden) == b'{"short": "' + b"*" * 24 + b'", "x": 1}'
    assert covered(b"nothing of the kind", hidden) == b"nothing of the kind"


def test_many_texts_are_redacted_as_each_would_be() -> None:
    key = f"ghp_{mixed(36)}"
    for texts in (["first", "", "last"], ["first", f"my {key}", "", "last"], []):
        assert list(redact_all(texts, SCANNER)) == [redact(text, SCANNER)[0] for text in texts]
