"""Further into what is stored, on the terminal."""

from pathlib import Path

import pytest

from roost.app.serving import Served
from roost.cli.main import main
from tests.unit.cli.conftest import Told, as_json


def test_a_conversation_is_condensed_when_it_is_asked_for(served: Served, told: Told) -> None:
    told("agent", "-m", "what is a session?")
    assert told("sessions", "compact").startswith("agent:main:main: ")
    assert as_json(told, "sessions", "compact", "main")["key"] == "agent:main:main"


def test_only_a_conversation_that_is_there_is_condensed_and_nothing_is_cut_off(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong, said in (
        (["nope"], "no session nope"),
        (["main", "--max-lines", "3"], "leave --max-lines out"),
    ):
        assert main(["sessions", "compact", *wrong]) == 1
        assert said in capsys.readouterr().err


def test_where_the_policy_only_warns_who_cleans_up_is_told_how_it_is_done(home: Path, told: Told) -> None:
    text = (home / "roost.json").read_text()
    (home / "roost.json").write_text(
        text.replace("{ gateway", "{ session: { maintenance: { mode: 'warn' } }, gateway", 1)
    )
    assert "--enforce does it" in told("sessions", "cleanup")
    assert told("sessions", "cleanup", "--enforce", "--fix-missing") == (
        "no transcript is missing\nno session is old enough\n"
    )
    assert told("sessions", "cleanup", "--dry-run") == "no session is old enough\n"


def test_a_cleanup_counts_what_it_did_and_knows_the_session_that_is_to_stay(
    told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    told("agent", "-m", "hello")
    found = as_json(told, "sessions", "cleanup", "--active-key", "main")
    (store,) = found["stores"]
    names = ("agentId", "beforeCount", "afterCount", "missing", "dmScopeRetired", "pruned", "capped")
    assert [store[name] for name in names] == ["main", 1, 1, 0, 0, 0, 0]
    for wrong, said in (
        (["--active-key", "nope"], "no session nope"),
        (["--fix-dm-scope"], "roost sessions archive"),
    ):
        assert main(["sessions", "cleanup", *wrong]) == 1
        assert said in capsys.readouterr().err
