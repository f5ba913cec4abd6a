"""Questions that are asked until their answer can be used."""

import io

import pytest

from roost.cli.questions import ask
from roost.core.errors import InvalidInput


def even(text: str) -> int:
    if int(text) % 2:
        raise InvalidInput(f"{text} is odd", hint="add one")
    return int(text)


def test_it_is_asked_again_with_the_reason_until_the_answer_can_be_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("3\n 4 \n"))
    assert ask("How many", "2", even) == 4
    assert "3 is odd (add one)\n" in capsys.readouterr().out


def test_no_answer_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert ask("How many", "2", even) == 2


def test_where_nobody_answers_any_more_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("3\n"))
    with pytest.raises(InvalidInput, match="nothing was changed"):
        ask("How many", "", even)
