"""Sessions and messages as people read them."""

import pytest

from roost.cli.rows import cost, message_line, sessions_table
from roost.core.jsonvalue import JsonObject


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"role": "user", "content": "hello"}, "user: hello"),
        ({"role": "assistant", "content": [{"type": "toolCall", "name": "exec"}]}, "assistant: [exec]"),
        ({"role": "toolResult", "toolName": "exec", "content": [{"type": "text", "text": "ok"}]}, "exec: ok"),
        ({"role": "system"}, "system: "),
        ({"role": "user", "content": "hi", "provenance": {"kind": "external_user"}}, "user: hi"),
        (
            {
                "role": "user",
                "content": "done",
                "provenance": {"kind": "inter_session", "sourceSessionKey": "agent:main:side"},
            },
            "session agent:main:side: done",
        ),
        (
            {"role": "user", "content": "rain", "provenance": {"kind": "internal_system"}},
            "the gateway: rain",
        ),
        (
            {"role": "user", "content": "psst", "provenance": {"kind": "inter_session"}},
            "another session: psst",
        ),
        (
            {"role": "assistant", "content": "dear", "model": "gateway-injected"},
            "assistant (by no model): dear",
        ),
    ],
)
def test_a_message_says_who_said_what(row: JsonObject, line: str) -> None:
    assert message_line(row) == line


def test_a_long_title_is_cut_and_none_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    sessions_table([{"key": "k", "label": "word " * 50, "totalTokens": 1500}, {"key": "l"}], 0)
    said = capsys.readouterr().out
    assert "…" in said
    assert "1.5k" in said


def test_a_session_is_told_with_what_fills_its_context_and_its_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    full: JsonObject = {
        "key": "k",
        "totalTokens": 50_000,
        "contextTokens": 200_000,
        "modelProvider": "x",
        "model": "m",
    }
    sessions_table([full, {"key": "l", "model": "demo", "modelProvider": "demo"}, {"key": "n"}], 0)
    said = capsys.readouterr().out.splitlines()
    assert "50k (25%)" in said[1]
    assert "x/m" in said[1]
    assert "demo/demo" not in said[2]


def test_costs_are_dollars() -> None:
    assert cost(1.5) == "$1.5000"
    assert cost(None) == "-"
