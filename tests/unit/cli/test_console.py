"""A conversation on the terminal."""

from pathlib import Path

import pytest

from roost.cli.overview import main
from tests.unit.cli.conftest import Typed


def test_what_is_typed_is_answered_before_the_command_ends(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("what is a session?\n\n")
    assert main() == 0
    assert "A session is one conversation" in capsys.readouterr().out


def test_the_same_words_in_a_later_conversation_are_answered_again(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        typed("what is a session?\n")
        assert main() == 0
        assert "A session is one conversation" in capsys.readouterr().out


def test_a_model_that_is_not_there_is_told_to_who_asked(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "roost.json").write_text('{ agents: { defaults: { model: { primary: "nobody/nothing" } } } }')
    typed("hello\n")
    assert main() == 0
    assert "there is no model nobody/nothing" in capsys.readouterr().out
