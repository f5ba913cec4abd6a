"""Tables on a terminal."""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout

import pytest

from roost.cli.show import table


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_screen(heads: Sequence[str], row: Sequence[object]) -> list[str]:
    """The lines of a table on a terminal of 80 columns."""
    with redirect_stdout(Screen()) as screen:
        table(heads, [row])
    return [line.rstrip() for line in screen.getvalue().splitlines()]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")


@pytest.mark.usefixtures("narrow")
def test_a_narrow_terminal_cuts_nothing_that_has_to_be_typed_again() -> None:
    key, title = f"agent:main:subagent:{'4' * 36}", "what was said " * 4
    heads = ("", "session", "status", "last", "tokens", "about")
    first, second, third = on_screen(heads, (1, key, "done", None, "1.2k", title))
    assert first == f"1  {key}"
    assert second.startswith("  status done · tokens 1.2k · about what was said")
    assert len(second) <= 80
    assert title.endswith(f"{third.strip()} ")


@pytest.mark.usefixtures("narrow")
def test_a_row_of_one_name_has_nothing_below_it() -> None:
    assert on_screen(("session", "status", "about"), ("k" * 90, "", None)) == ["k" * 80, "k" * 10]


@pytest.mark.usefixtures("narrow")
def test_the_last_column_takes_several_lines_where_it_must() -> None:
    head, *lines = on_screen(("id", "why"), ("a", "word " * 30))
    assert head.split() == ["id", "why"]
    assert " ".join(lines).split() == ["a", *["word"] * 30]
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("width", ["80", "12"])
def test_names_have_a_colour_on_a_terminal_and_nothing_is_styled_where_none_is_wanted(
    monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;36m" in "\n".join(on_screen(("session", "about"), ("main", "what was said")))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "\n".join(on_screen(("session", "about"), ("main", "what was said")))
