"""One message on the terminal, and its answer."""

import json

import pytest

from roost.app.serving import Served
from roost.cli.agent import undelivered
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


def test_a_turn_may_have_a_limit_and_says_that_its_answer_was_not_delivered(
    served: Served, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    limited = ("agent", "-m", "what is a session?", "--timeout", "60", "--deliver")
    assert main(limited) == 1
    said = capsys.readouterr()
    assert "one conversation" in said.out
    assert said.err == (
        "roost: the answer was not delivered (no-route): this session was met in no chat: say which with `to`\n"
    )
    found = json.loads(told(*limited, "--json", code=1))
    assert (found["status"], found["result"]["deliverySucceeded"]) == ("ok", False)
    assert as_json(told, "agent", "-m", "hello")["result"].keys() == {"payloads", "meta"}


@pytest.mark.parametrize(("status", "code"), [("sent", 0), ("silent", 0), ("pending", 1), ("failed", 1)])
def test_an_answer_that_did_not_arrive_is_a_failure(
    status: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert undelivered({"result": {"deliveryStatus": {"status": status}}}) == code
    assert (f"not delivered ({status})" in capsys.readouterr().err) == bool(code)


def test_a_session_is_named_by_its_key_its_id_or_a_place(served: Served, told: Told) -> None:
    told("agent", "-m", "hello", "--session-key", "notes")
    (row,) = as_json(told, "sessions", "list")["sessions"]
    assert row["key"] == "agent:main:notes"
    told("agent", "-m", "again", "--session-id", row["sessionId"])
    assert "user: again" in told("sessions", "history", "notes")
    place = ("--to", "https://example.com/x", "--channel", "webhook")
    assert as_json(told, "agent", "-m", "there", *place)["status"] == "ok"
    told("agent", "-m", "list my sessions", *place)
    keys = {row["key"] for row in as_json(told, "sessions", "list")["sessions"]}
    (there,) = keys - {"agent:main:notes"}
    assert "user: there" in told("sessions", "history", there)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--session-id", "nope"], "no session nope"),
        (["--session-id", "x", "--session", "y"], "leave one of them out"),
        (["--channel", "webhook"], "a channel without a place (give --to)"),
        (
            ["--to", "https://example.com/x", "--channel", "webhook", "--session", "notes"],
            "the conversation at",
        ),
    ],
)
def test_a_session_that_cannot_be_meant_is_refused(
    served: Served, wrong: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["agent", "-m", "hi", *wrong]) == 1
    assert told in capsys.readouterr().err


def test_a_place_is_spoken_at_through_a_gateway_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", "-m", "hi", "--to", "https://example.com/x", "--channel", "webhook"]) == 3
