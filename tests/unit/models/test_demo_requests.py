"""Plain requests the demo model understands."""

import pytest

from roost.core.jsonvalue import JsonObject
from roost.models.demo_requests import LISTED, SHOWN, Wish, wish_in

LIST: JsonObject = {"limit": LISTED, "includeDerivedTitles": True}


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("list my sessions", "sessions_list", LIST),
        ("Which sessions are there?", "sessions_list", LIST),
        ("please show me all sessions.", "sessions_list", LIST),
        ("spawn a helper to count to 5", "sessions_spawn", {"task": "count to 5"}),
        ("Start a sub-agent: list my sessions", "sessions_spawn", {"task": "list my sessions"}),
        (
            "tell the research session to report",
            "sessions_send",
            {"label": "research", "message": "to report"},
        ),
        (
            'Ask the "agent:ops:main" session: all well?',
            "sessions_send",
            {"sessionKey": "agent:ops:main", "message": "all well?"},
        ),
        ("tell main session that I am late", "sessions_send", {"sessionKey": "main", "message": "I am late"}),
        ("search my sessions for the invoice of May", "sessions_search", {"query": "the invoice of May"}),
        ('search for "blue whales".', "sessions_search", {"query": "blue whales"}),
        (
            "show the history of agent:main:main",
            "sessions_history",
            {"sessionKey": "agent:main:main", "limit": SHOWN},
        ),
        (
            "What did we say in the garden session?",
            "sessions_history",
            {"sessionKey": "garden", "limit": SHOWN},
        ),
        ("show the status of main.", "session_status", {"sessionKey": "main"}),
        ("what have I said in main", "sessions_history", {"sessionKey": "main", "limit": SHOWN}),
        ("history of the research session?", "sessions_history", {"sessionKey": "research", "limit": SHOWN}),
    ],
)
def test_a_plain_request_calls_for_its_tool(text: str, tool: str, arguments: JsonObject) -> None:
    assert wish_in(text) == Wish(tool, arguments)


@pytest.mark.parametrize(
    "text",
    ["hello", "what is a session?", "tell me about sessions", "spawn a helper", "how do sessions work", ""],
)
def test_anything_else_calls_for_none(text: str) -> None:
    assert wish_in(text) is None


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text", ["history of " + "." * 100_000 + "x", "search for " + "? " * 50_000 + "\n", "tell the " * 20_000]
)
def test_no_text_takes_long_to_read(text: str) -> None:
    wish_in(text)
