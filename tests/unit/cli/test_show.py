"""What a command says."""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout

import pytest

from roost.cli.show import ago, cell, due, facts, objects, part, plain, say, table, told


def test_what_others_wrote_does_nothing_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert plain("a\x1b[2Jb\u202ec\n\td") == "a�[2Jb�c\n\td"
    say("\x1b]0;title\x07")
    table(("name",), [("\x1b[31mred",)])
    facts([("name", "[bold]\x1b"), ("nothing", None)])
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "[bold]" in said
    assert "nothing" not in said


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (True, "yes"),
        (False, "no"),
        ("a", "a"),
        ([1], "[1]"),
        (["a", "b"], "a, b"),
        ([], "-"),
        (5, "5"),
    ],
)
def test_values_are_shown_as_people_write_them(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_times_are_told_from_now() -> None:
    assert ago(0, 120_000) == "2m ago"
    assert ago(None, 1) is None
    assert ago(1, "x") is None
    assert due(180_000, 60_000).startswith("in 2m (19")
    assert due(0, 60_000).startswith("1m ago (19")
    assert due(None, 1) == "never"


def test_a_row_is_told_in_words() -> None:
    row = {
        "sessionId": "s-1",
        "createdAtMs": 0,
        "updatedAt": 0,
        "durationMs": 90_000,
        "estimatedCostUsd": 0.5,
        "isMain": True,
        "state": {"nextRunAtMs": None, "lastStatus": "ok"},
        "fallbacks": ["a/b", "c/d"],
        "children": [],
        "usage": [{"a": 1}],
    }
    words = dict(told(row, 60_000))
    assert str(words.pop("created")).startswith("1m ago (")
    assert str(words.pop("updated")).startswith("1m ago (")
    assert words == {
        "session id": "s-1",
        "duration": "1m 30s",
        "estimated cost": "$0.5000",
        "is main": True,
        "state": "last status ok",
        "fallbacks": "a/b, c/d",
        "children": None,
        "usage": [{"a": 1}],
    }


def test_what_is_not_there_is_nothing() -> None:
    assert part({"a": {"b": 1}}, "a", "b") == 1
    assert part({"a": 1}, "a", "b") is None
    assert objects([1, {"a": 1}]) == [{"a": 1}]
    assert objects(None) == []


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


def test_a_line_that_is_not_for_a_terminal_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    table(("name",), [("x" * 500,)])
    assert "x" * 500 in capsys.readouterr().out
