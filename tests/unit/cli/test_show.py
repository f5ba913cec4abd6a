"""What a command says."""

import json

import pytest

from roost.cli.here import LOCAL, Local
from roost.cli.show import (
    ago,
    answer,
    answer_table,
    cell,
    due,
    facts,
    objects,
    part,
    plain,
    say,
    table,
    told,
)

JSON = Local(json=True)


def test_what_others_wrote_does_nothing_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert plain("a\x1b[2Jb\u202ec\n\td") == "a�[2Jb�c\n\td"
    say("\x1b]0;title\x07")
    table(("name",), [("\x1b[31mred",)])
    facts([("name", "[bold]\x1b"), ("nothing", None)])
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "[bold]" in said
    assert "nothing" not in said


def test_characters_that_belong_together_stay_together() -> None:
    family, written = "👩\u200d👩\u200d👧", "می\u200cخواهم"
    assert plain(f"{family} {written}") == f"{family} {written}"
    assert plain("\u202a\u202e\u2066\u200e\u200b\ufeff") == "�" * 6


def test_an_answer_is_words_for_people_and_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    answer(LOCAL, {"a": 1}, "done")
    assert capsys.readouterr().out == "done\n"
    answer(JSON, {"a": 1}, "done")
    assert json.loads(capsys.readouterr().out) == {"a": 1}


def test_what_there_is_is_a_table_unless_there_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    answer_table(LOCAL, {"a": 1}, ("name",), iter([("ada",)]), "nobody")
    said = capsys.readouterr().out
    assert "name" in said
    assert "ada" in said
    answer_table(LOCAL, {"a": 1}, ("name",), (), "nobody")
    assert capsys.readouterr().out == "nobody\n"
    answer_table(JSON, {"a": 1}, ("name",), (), "nobody")
    assert json.loads(capsys.readouterr().out) == {"a": 1}


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
    assert due(10**16, 60_000).startswith("in 115740740d (999")


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


def test_a_line_that_is_not_for_a_terminal_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    table(("name",), [("x" * 500,)])
    assert "x" * 500 in capsys.readouterr().out


def test_lines_end_where_their_words_end(capsys: pytest.CaptureFixture[str]) -> None:
    table(("name", "about"), [("ada", "x"), ("grace hopper", "a long story")])
    facts([("name", "ada"), ("about", "a long story")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert [line for line in lines if line != line.rstrip()] == []
