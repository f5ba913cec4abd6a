"""What the `roost` command starts."""

from pathlib import Path

import pytest

from roost import __version__
from roost.cli.overview import main, refused
from roost.core.errors import Fenced, NotFound


def test_it_opens_the_store_and_says_what_is_there(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Roost {__version__}\n")
    assert f"{home / 'roost.db'}, sound" in said
    assert (home / "roost.db").exists()


def test_a_refused_configuration_is_named_and_nothing_is_opened(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "roost.json").write_text("{ session: { rest: {} } }")
    assert main() == 1
    said = capsys.readouterr().err
    assert "session.rest" in said
    assert "reset" in said
    assert not (home / "roost.db").exists()


def test_what_the_owner_should_hear_about_the_configuration_is_said(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "roost.json").write_text('{ session: { reset: { mode: "idle" } } }')
    assert main() == 0
    assert "warning " in capsys.readouterr().out


def test_errors_are_told_once_and_without_the_tasks_they_happened_in(
    capsys: pytest.CaptureFixture[str],
) -> None:
    inner: Exception = ExceptionGroup("inner", [Fenced("the lease is lost")])
    assert (
        refused(ExceptionGroup("outer", [inner, Fenced("the lease is lost"), NotFound("no such run")])) == 1
    )
    assert capsys.readouterr().err == "roost: the lease is lost\nroost: no such run\n"


def test_an_error_that_is_not_roosts_own_is_not_made_to_look_like_one() -> None:
    failed = ExceptionGroup("outer", [Fenced("lost"), ValueError("a defect")])
    with pytest.raises(ExceptionGroup, match="outer"):
        refused(failed)


def test_a_command_that_is_not_there_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mend"]) == 2
    assert "roost repair" in capsys.readouterr().err
    assert not (home / "roost.db").exists()
