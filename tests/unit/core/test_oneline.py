import pytest

from roost.core.oneline import one_line, preview
from roost.scanners.stdlib import StdlibScanner
from tests.credentials import mixed

SCANNER = StdlibScanner()
KEY = "sk-" + mixed(30)
MASKED = f"{KEY[:6]}…{KEY[-4:]}"


@pytest.mark.requirement("D55")
def test_a_preview_is_one_short_line_without_secrets() -> None:
    assert preview(f"It is\n\n  {KEY}.", SCANNER) == f"It is {MASKED}."
    assert preview("word " * 100, SCANNER) == " ".join(["word"] * 31) + "…"


def test_a_preview_without_spaces_is_cut_anywhere() -> None:
    assert preview("数" * 500, SCANNER) == "数" * 159 + "…"


@pytest.mark.requirement("D55")
def test_a_title_is_the_beginning_of_what_was_said_first() -> None:
    assert one_line("  Plan\nthe garden ", 60) == "Plan the garden"
    assert len(one_line("word " * 100, 60)) <= 60
