"""Further into what is stored, on the terminal."""

from roost.app.serving import Served
from tests.unit.cli.conftest import Told, as_json


def test_a_conversation_is_condensed_when_it_is_asked_for(served: Served, told: Told) -> None:
    told("agent", "-m", "what is a session?")
    assert told("sessions", "compact").startswith("agent:main:main: ")
    assert as_json(told, "sessions", "compact", "main")["key"] == "agent:main:main"
