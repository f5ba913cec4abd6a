"""What the demo model says about results."""

import json

import pytest

from roost.core.messages import Text, ToolResult
from roost.models.demo_results import summary_of


def summary(tool: str, found: object, *, is_error: bool = False) -> str:
    text = found if isinstance(found, str) else json.dumps(found)
    return summary_of(ToolResult(call_id="1", tool=tool, content=(Text(text),), at=1, is_error=is_error))


@pytest.mark.parametrize(
    ("tool", "found", "said"),
    [
        (
            "sessions_list",
            {
                "count": 2,
                "sessions": [{"key": "agent:main:main", "label": "Home"}, {"key": "agent:ops:main"}],
            },
            "I found 2 sessions:\n- agent:main:main (Home)\n- agent:ops:main",
        ),
        ("sessions_list", {"sessions": []}, "I found no session."),
        ("sessions_list", {"sessions": "odd"}, "I found no session."),
        (
            "sessions_list",
            {"sessions": [], "visibility": {"warning": "Only this one."}},
            "I found no session.\nOnly this one.",
        ),
        (
            "sessions_search",
            {"results": [{"sessionKey": "main", "snippet": "the\ninvoice"}]},
            "I found 1 passage:\n- main: the invoice",
        ),
        (
            "sessions_history",
            {
                "messages": [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": [{"type": "text", "text": "yes"}, {"type": "toolCall"}]},
                ]
            },
            "I found 2 messages:\n- user: hi\n- assistant: yes",
        ),
        (
            "sessions_spawn",
            {"status": "accepted", "childSessionKey": "agent:main:subagent:1"},
            "A helper has started in agent:main:subagent:1. Its report comes here when it is done.",
        ),
        ("sessions_send", {"status": "ok", "sessionKey": "ops", "reply": "fine"}, "ops replies: fine"),
        ("sessions_send", {"status": "accepted"}, "The message is with the session; there is no reply yet."),
        ("agents_list", {"agents": []}, 'agents_list says: {"agents": []}'),
        ("session_status", "Session: main\nStatus: idle", "Session: main\nStatus: idle"),
        ("read", "plain text", "read says: plain text"),
        ("read", "", "read says: (nothing)"),
    ],
)
def test_a_result_is_told_in_words(tool: str, found: object, said: str) -> None:
    assert summary(tool, found) == said


def test_an_error_is_told_as_one() -> None:
    assert summary("sessions_send", {"status": "forbidden", "error": "not yours"}).endswith("not yours")
    assert summary("sessions_list", {"sessions": []}, is_error=True).startswith("That did not work")
    assert summary("read", "no such file", is_error=True) == "read failed: no such file"


def test_a_long_result_is_cut() -> None:
    assert summary("read", "x" * 10_000).endswith("x…")
    assert len(summary("read", "x" * 10_000)) < 500
