"""Putting away and removing, one or several."""

import json
from pathlib import Path

import pytest

from roost.app.serving import Served
from roost.cli.main import main
from tests.unit.cli.conftest import Told, as_json
from tests.unit.cli.terminals import Terminal


@pytest.fixture
def two(served: Served, told: Told) -> None:
    for name in ("one", "two"):
        told("agent", "-m", "hello", "--session", name)


def keys(told: Told, *more: str) -> set[str]:
    return {row["key"] for row in as_json(told, "sessions", *more)["sessions"]}


BOTH = {"agent:main:one", "agent:main:two"}


def test_several_are_archived_and_taken_back_at_once(two: None, told: Told) -> None:
    dry = as_json(told, "sessions", "archive", "one", "two", "--dry-run")
    assert (dry["dryRun"], keys(told)) == (True, BOTH)
    done = as_json(told, "sessions", "archive", "one", "two")
    assert (done["ok"], done["operation"], done["dryRun"]) == (True, "archive", False)
    assert [(one["key"], one["ok"], one["status"]) for one in done["results"]] == [
        ("agent:main:one", True, "archived"),
        ("agent:main:two", True, "archived"),
    ]
    assert keys(told, "--archived") == BOTH
    assert told("sessions", "archive", "one", "two", "--undo").count("is back") == 2
    assert keys(told) == BOTH


def test_one_that_cannot_be_removed_stops_no_other_and_shows_in_the_exit_code(
    two: None, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    told("agent", "-m", "hello")
    assert main(["sessions", "delete", "one", "nowhere", "main", "--yes", "--json"]) == 1
    done = json.loads(capsys.readouterr().out)
    assert (done["ok"], done["operation"]) == (False, "delete")
    failed = {one["key"]: one["error"]["message"] for one in done["results"] if not one["ok"]}
    assert failed["nowhere"] == "no session nowhere"
    assert "main session" in failed["main"]
    assert [one["key"] for one in done["results"] if one["ok"]] == ["agent:main:one"]
    assert keys(told) == {"agent:main:two", "agent:main:main"}


def test_a_dry_run_of_a_removal_removes_nothing_and_asks_nobody(two: None, told: Told) -> None:
    assert told("sessions", "delete", "one", "two", "--dry-run") == (
        "agent:main:one would be removed\nagent:main:two would be removed\n"
    )
    told("sessions", "delete", "one", "nowhere", "--dry-run", code=1)
    assert keys(told) == BOTH


def test_where_nobody_can_be_asked_nothing_is_removed_without_yes(
    two: None, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", "delete", "one", "two"]) == 1
    assert "agent:main:one, agent:main:two and all that was said there" in capsys.readouterr().err
    assert keys(told) == BOTH


@pytest.mark.parametrize(("answer", "left"), [("no", BOTH), ("yes", {"agent:main:two"})])
def test_on_a_terminal_the_person_is_asked(
    answer: str, left: set[str], two: None, told: Told, home: Path
) -> None:
    with Terminal(("sessions", "delete", "one"), {"ROOST_HOME": str(home)}) as terminal:
        terminal.shows("Type yes to go on: ")
        terminal.types(f"{answer}\n")
        assert terminal.ends() == (0 if answer == "yes" else 1)
    assert keys(told) == left


def test_none_at_all_is_not_taken_for_all(told: Told) -> None:
    for verb in ("archive", "delete"):
        assert main(["sessions", verb]) != 0
