"""What a command says."""

import pytest

from roost.cli.show import ago, cell, facts, objects, part, plain, say, table


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
    ("value", "shown"), [(None, "-"), (True, "yes"), (False, "no"), ("a", "a"), ([1], "[1]"), (5, "5")]
)
def test_values_are_shown_as_people_write_them(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_times_are_told_from_now() -> None:
    assert ago(0, 120_000) == "2m ago"
    assert ago(None, 1) is None
    assert ago(1, "x") is None


def test_what_is_not_there_is_nothing() -> None:
    assert part({"a": {"b": 1}}, "a", "b") == 1
    assert part({"a": 1}, "a", "b") is None
    assert objects([1, {"a": 1}]) == [{"a": 1}]
    assert objects(None) == []


def test_a_line_that_is_not_for_a_terminal_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    table(("name",), [("x" * 500,)])
    assert "x" * 500 in capsys.readouterr().out
