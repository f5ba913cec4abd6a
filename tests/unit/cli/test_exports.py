"""What is exported is written where the command is given."""

import json
from pathlib import Path

import pytest

from roost.app.serving import Served
from roost.cli.main import main
from tests.unit.cli.conftest import Told, as_json


def test_an_export_names_its_files_one_by_one(served: Served, told: Told, home: Path) -> None:
    told("agent", "-m", "what is a session?")
    told("sessions", "reset", "main")
    told("agent", "-m", "what is a session?")
    found = as_json(told, "sessions", "export", "main")
    assert (found["ok"], found["operation"]) == (True, "export")
    (one,) = found["results"]
    assert (one["key"], one["raw"], one["replaced"]) == ("agent:main:main", False, [])
    assert len(one["files"]) == 2
    for file in map(Path, one["files"]):
        assert file.parent.parent == home
        assert json.loads(file.read_text().splitlines()[0])["type"] == "session"
    assert not (home / "exports").exists()
    again = told("sessions", "export", "main")
    assert "exported 2 files, with secrets masked" in again
    assert again.count("(replaced)") == 2


def test_without_a_gateway_an_export_is_written_too(told: Told, home: Path) -> None:
    told("agent", "-m", "what is a session?")
    told("sessions", "export", "main", "--to", str(home / "deep" / "down"))
    (file,) = (home / "deep" / "down").rglob("*.jsonl")
    assert "what is a session?" in file.read_text()


@pytest.mark.requirement("P24", "D57")
def test_secrets_are_masked_unless_the_bytes_are_asked_for(served: Served, told: Told, home: Path) -> None:
    told("agent", "-m", f"mine is ghp_{'a1B2' * 9}")
    for more, shown in (((), False), (("--raw",), True)):
        (one,) = as_json(told, "sessions", "export", "main", *more)["results"]
        assert ("ghp_a1B2" in Path(one["files"][0]).read_text()) == shown


def test_several_are_exported_and_one_that_is_not_there_stops_none(
    served: Served, told: Told, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        told("agent", "-m", "hello", "--session", name)
    assert main(["sessions", "export", "one", "nowhere", "two", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [one["ok"] for one in found["results"]] == [True, False, True]
    assert found["ok"] is False
    assert found["results"][1]["error"]["message"] == "no session nowhere"
    told("sessions", "archive", "two")
    every = as_json(told, "sessions", "export", "--all", "--to", "all")["results"]
    assert {one["key"] for one in every} == {"agent:main:one", "agent:main:two"}
    assert len(list((home / "all").iterdir())) == 2


def test_which_are_meant_is_said(told: Told) -> None:
    told("sessions", "export", code=1)
    told("sessions", "export", "main", "--all", code=1)
