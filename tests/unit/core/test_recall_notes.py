"""What a session notes for itself when it yields is read back by nobody."""

import pytest

from roost.core.entries import Entry
from roost.core.messages import AssistantMessage, Text, ToolCall, ToolResult, text_of, tool_calls
from roost.core.recall import NOTE_OMITTED, RecallOptions, recall
from roost.scanners.stdlib import StdlibScanner

OPTIONS = RecallOptions(scanner=StdlibScanner(), include_tools=True)


def yielded(told: str, *, tool: str = "sessions_yield", is_error: bool = False) -> Entry:
    body = ToolResult(call_id="c", tool=tool, content=(Text(told),), at=1, is_error=is_error)
    return Entry(session_id="s", seq=1, id="e", body=body)


@pytest.mark.requirement("D56")
@pytest.mark.parametrize(
    ("told", "left"),
    [
        (
            '{"status":"yielded","message":"PRIVATE","pendingChildren":[]}',
            '{"status":"yielded","pendingChildren":[]}',
        ),
        ('{\n  "status": "yielded",\n  "message": "PRIVATE"\n}', '{"status":"yielded"}'),
        ('{"status":"yielded","message":"PRIV', NOTE_OMITTED),
    ],
)
def test_the_note_that_a_yield_repeats_is_its_own_sessions(told: str, left: str) -> None:
    page = recall((yielded(told),), OPTIONS)
    assert (text_of(page.messages[0].message), page.metadata_omitted) == (left, True)


def test_where_there_is_no_note_nothing_is_omitted() -> None:
    refused = yielded("`message` is too long.", is_error=True)
    noteless, other = yielded('{"status":"yielded"}'), yielded('{"message":"Hi"}', tool="send")
    page = recall((refused, noteless, other), OPTIONS)
    told = [text_of(one.message) for one in page.messages]
    assert told == ["`message` is too long.", '{"status":"yielded"}', '{"message":"Hi"}']
    assert not page.metadata_omitted


def test_the_note_of_another_tool_is_no_yield_note() -> None:
    call = ToolCall(id="c1", name="send", arguments={"message": "Hi"})
    called = Entry(session_id="s", seq=1, id="e", body=AssistantMessage(content=(call,), at=1))
    (told,) = recall((called,), OPTIONS).messages
    assert tool_calls(told.message) == (call,)
