"""Further into what is stored, on the terminal."""

from pathlib import Path

from roost.app.serving import Served
from tests.unit.cli.conftest import Told, as_json


def test_an_export_names_its_files_one_by_one(served: Served, told: Told) -> None:
    told("agent", "-m", "what is a session?")
    told("sessions", "reset", "main")
    told("agent", "-m", "what is a session?")
    found = as_json(told, "sessions", "export", "main")
    assert (found["key"], found["raw"], len(found["files"])) == ("main", False, 2)
    assert all(Path(file).is_file() for file in found["files"])


def test_a_conversation_is_condensed_when_it_is_asked_for(served: Served, told: Told) -> None:
    told("agent", "-m", "what is a session?")
    assert told("sessions", "compact").startswith("agent:main:main: ")
    assert as_json(told, "sessions", "compact", "main")["key"] == "agent:main:main"
