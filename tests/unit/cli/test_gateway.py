"""`roost gateway` asks the gateway that runs."""

import json

import pytest

from roost.app.serving import Served
from roost.cli.main import UNREACHABLE, main


def test_the_gateway_that_runs_is_asked(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gateway", "health"]) == 0
    assert capsys.readouterr().out == "well\n"
    assert main(["gateway", "health", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True
    assert main(["gateway", "status"]) == 0
    assert "clients" in capsys.readouterr().out
    assert main(["gateway", "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runtimeVersion"] == "1"
    assert main(["gateway", "call", "sessions.list", '{"limit": 1}']) == 0
    assert json.loads(capsys.readouterr().out)["limitApplied"] == 1


def test_a_call_that_is_wrong_is_told_without_a_trace(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = f"{'[' * 50_000}{']' * 50_000}"
    for wrong in (
        ["nobody.knows"],
        ["health", "nonsense"],
        ["health", "[]"],
        ["health", '{"x": 1}'],
        ["health", deep],
    ):
        assert main(["gateway", "call", *wrong]) == 1
        assert capsys.readouterr().err.startswith("roost: ")


def test_a_method_that_is_not_there_is_told_with_those_that_may_be_meant(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong, hint in (("session.list", "did you mean sessions.list"), ("nobody.knows", "lists all")):
        assert main(["gateway", "call", wrong]) == 1
        said = capsys.readouterr().err
        assert f"unknown method: {wrong}" in said
        assert hint in said


def test_a_call_that_is_answered_twice_is_waited_for_when_its_end_is_asked_for(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    said = '{"message": "hello", "sessionKey": "main", "idempotencyKey": "%s"}'
    assert main(["gateway", "call", "agent", "--params", said % "a"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "accepted"
    assert main(["gateway", "call", "agent", "--params", said % "b", "--expect-final", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "ok"
    assert main(["gateway", "call", "health", "--expect-final"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_a_gateway_that_cannot_be_had_is_refused_in_a_line(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gateway", "run", "--bind", "loopback"]) == 1
    assert "is taken" in capsys.readouterr().err


def test_who_calls_may_say_how_long_to_wait(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gateway", "call", "health", "--timeout", "0"]) == UNREACHABLE
    assert "no answer came within 0 ms" in capsys.readouterr().err
    assert main(["gateway", "call", "health", "--timeout", "60000"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True
