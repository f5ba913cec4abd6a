"""What is configured, in a few lines."""

import json
from pathlib import Path

import pytest

from roost import __version__
from roost.cli.main import main


def test_it_opens_nothing_and_says_where_everything_is(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main() == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Roost {__version__}\n")
    assert str(home / "roost.json") in said
    assert not (home / "roost.db").exists()
    assert main(["overview", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["home"] == str(home)


def test_what_the_owner_should_hear_about_the_configuration_is_said(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "roost.json").write_text('{ session: { reset: { mode: "idle" } } }')
    assert main() == 0
    assert "warning" in capsys.readouterr().out
