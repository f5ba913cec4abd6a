"""One message on the terminal, and its answer."""

import json

import pytest

from roost.app.serving import Served
from roost.cli.main import main
from tests.unit.cli.conftest import Told, as_json


@pytest.mark.parametrize(
    "message", ["/reset", " /new: demo/demo and hello", "/status", "/think high", "/EXPORT"]
)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_command_is_no_turn_and_is_refused_with_where_it_is_said(
    message: str, form: tuple[str, ...], served: Served, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    told("agent", "-m", "what is a session?")
    before = as_json(told, "sessions", "show", "main")
    assert main(["agent", "-m", message, *form]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "is a command" in said.err
    assert "roost send" in said.err
    assert as_json(told, "sessions", "show", "main") == before


@pytest.mark.parametrize("message", ["/etc/hosts is what?", "/think high what is a session?", "/ hm"])
def test_what_only_looks_like_a_command_is_said(message: str, served: Served, told: Told) -> None:
    assert told("agent", "-m", message).strip()
    assert as_json(told, "sessions", "history", "main")["totalMessages"] == 2


def test_a_turn_may_have_a_limit_and_be_delivered(served: Served, told: Told) -> None:
    limited = ("agent", "-m", "what is a session?", "--timeout", "60", "--deliver")
    assert "one conversation" in told(*limited)
    found = json.loads(told(*limited, "--json"))
    assert found["status"] == "ok"
