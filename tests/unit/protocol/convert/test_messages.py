"""Entries as the rows that clients show."""

from typing import Any

import pytest

from roost.core.entries import Entry
from roost.core.jsonvalue import JsonObject, as_object
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Image,
    Notice,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from roost.core.sessions import Generation, OpenedBy
from roost.protocol.convert.messages import LARGEST, fitting, message_row, past, text_message
from roost.protocol.frames import encode
from roost.scanners.stdlib import StdlibScanner
from roost.testing.builders import MAIN

HUMAN = Provenance(kind=ProvenanceKind.HUMAN)


def entry(body: Body, seq: int = 1, session_id: str = "s-1", run_id: str | None = None) -> Entry:
    return Entry(session_id=session_id, seq=seq, id=f"e-{seq}", body=body, run_id=run_id)


def row(body: Body, run_name: str | None = None, most: int = 100) -> dict[str, Any]:
    found = message_row(entry(body), run_name, most, StdlibScanner())
    assert found is not None
    return dict(found)


def said(text: str, seq: int = 1, session_id: str = "s-1") -> Entry:
    return entry(UserMessage(content=(Text(text),), at=5, provenance=HUMAN), seq, session_id)


def test_what_a_person_said_carries_the_key_of_its_message() -> None:
    shown = row(UserMessage(content=(Text("hi"),), at=5, provenance=HUMAN), "run-1")
    assert (shown["role"], shown["content"], shown["idempotencyKey"]) == ("user", "hi", "run-1:user")
    assert shown["__openclaw"] == {"id": "e-1", "seq": 1, "runId": "run-1", "senderIsOwner": True}
    system = Provenance(kind=ProvenanceKind.SYSTEM)
    quiet = row(UserMessage(content=(Text("hi"),), at=5, provenance=system))
    assert quiet["__openclaw"]["senderIsOwner"] is False
    assert "idempotencyKey" not in quiet


def test_what_no_model_wrote_is_told_apart() -> None:
    assert row(AssistantMessage(content=(Text("hi"),), at=5))["model"] == "gateway-injected"
    assert row(AssistantMessage(content=(Text("hi"),), at=5, provider="p", model="m"))["model"] == "m"


def test_marks_are_rows_and_notices_are_none() -> None:
    mark = row(Compaction(summary="s", first_kept_id=None, tokens_before=1, at=5))
    assert (mark["role"], mark["__openclaw"]["kind"]) == ("system", "compaction")
    assert mark["__openclaw"]["tokensBefore"] == 1
    assert message_row(entry(Notice(kind="x", at=5, data={})), None, 10, StdlibScanner()) is None


def test_long_texts_are_cut_and_everything_else_stays() -> None:
    words = AssistantMessage(
        content=(
            Text("short"),
            ToolCall(id="c", name="n", arguments={}),
            Thinking(thinking="t" * 20, signature="s"),
            Text("x" * 20),
        ),
        at=5,
        model="m",
    )
    short, call, thought, text = row(words, most=10)["content"]
    assert thought["thinking"] == "t" * 10 + "\n…(cut)"
    assert (short["text"], call["name"], text["text"]) == ("short", "n", "x" * 10 + "\n…(cut)")
    result = ToolResult(
        call_id="c", tool="n", content=(Text("y" * 20), Image(mime="image/png", data="A"), Text("z")), at=5
    )
    cut, picture, last = row(result, most=10)["content"]
    assert (cut["text"], picture["data"], last["text"]) == ("y" * 10 + "\n…(cut)", "A", "z")


@pytest.mark.requirement("P24", "S24")
def test_a_secret_is_masked_wherever_it_stands_and_before_anything_is_cut() -> None:
    secret = "sk-proj-Zk3vQ8xL2mN5pR7tW9yB4cD6"
    words = AssistantMessage(
        content=(
            Text(f"it is {secret}"),
            Thinking(thinking=f"{secret} it was"),
            ToolCall(id="c", name="n", arguments={"a": [secret, {"b": f"--token {secret}"}], secret: 1}),
        ),
        at=5,
        model="m",
        error=f"Incorrect API key provided: {secret}",
    )
    shown_to = (Text(secret), Image(mime="image/png", data="A"))
    given = UserMessage(content=shown_to, at=5, provenance=HUMAN, sender=f"Ann {secret}")
    details: JsonObject = {"quota": {secret: {"left": 4}}}
    result = ToolResult(call_id="c", tool="n", content=(Text(f"key: {secret}"),), at=5, details=details)
    for most in (10, 1_000):
        for body in (words, given, result):
            shown = str(row(body, most=most))
            assert secret[6:-4] not in shown
            assert secret[:14] not in shown
    page = (entry(words, 0, "s-1"), entry(given, 1, "s-1"), entry(result, 2, "s-1"))
    together = past(page, (), str, scanner=StdlibScanner(), most_chars=1_000, most_bytes=100_000)
    assert len(together.rows) == 3
    assert secret[6:-4] not in str(together.rows)


@pytest.mark.requirement("P24")
def test_an_argument_that_is_secret_by_its_name_is_masked_whatever_is_in_it() -> None:
    arguments: JsonObject = {
        "password": 4711,
        "in": [{"token": {"value": "hunter"}}],
        "authorization": ["Bearer x"],
    }
    words = AssistantMessage(content=(ToolCall(id="c", name="n", arguments=arguments),), at=5, model="m")
    (block,) = row(words)["content"]
    assert block["arguments"] == {
        "password": "***",
        "in": [{"token": {"value": "***"}}],
        "authorization": ["***"],
    }


def generation(session_id: str, opened_by: OpenedBy) -> Generation:
    return Generation(session_id=session_id, key=MAIN, number=1, opened_at=3, opened_by=opened_by)


def kinds(rows: list[Any]) -> list[str]:
    return [one["__openclaw"].get("kind") or one["content"] for one in rows]


def reason(row: Any) -> Any:
    return row["__openclaw"].get("modelReason")


def test_each_conversation_begins_with_its_mark() -> None:
    entries = (said("a"), said("b", 1, "s-2"), entry(Notice(kind="x", at=5, data={}), 2, "s-2"))
    generations = (generation("s-1", OpenedBy.FIRST), generation("s-2", OpenedBy.RESET))
    read = past(entries, generations, str, scanner=StdlibScanner(), most_chars=10, most_bytes=10_000)
    assert (kinds(read.rows), read.entries) == (["a", "reset", "b"], 3)


def test_a_conversation_without_a_word_is_its_mark() -> None:
    fresh = past(
        (), (generation("s-1", OpenedBy.NEW),), str, scanner=StdlibScanner(), most_chars=10, most_bytes=10_000
    )
    assert (kinds(fresh.rows), fresh.entries) == (["reset"], 0)
    assert past((), (), str, scanner=StdlibScanner(), most_chars=10, most_bytes=10_000).rows == []


def test_a_model_that_took_over_has_its_reason_where_it_began() -> None:
    entries = (said("a"), said("b", 2))
    why = {entries[1].id: "the first one failed"}
    read = past(entries, (), str, scanner=StdlibScanner(), most_chars=10, most_bytes=10_000, reasons=why)
    assert [reason(one) for one in read.rows] == [None, "the first one failed"]


def test_only_the_newest_rows_fit_and_one_always_does() -> None:
    entries = tuple(said(str(number), number) for number in range(1, 4))
    assert kinds(past(entries, (), str, scanner=StdlibScanner(), most_chars=10, most_bytes=1).rows) == ["3"]
    two = past(entries, (), str, scanner=StdlibScanner(), most_chars=10, most_bytes=400)
    assert (kinds(two.rows), two.entries) == (["2", "3"], 2)


@pytest.mark.requirement("S23", "P26")
def test_of_a_row_that_no_client_could_take_the_largest_parts_are_left_out() -> None:
    parts = (Text("look"), *(Image(mime="image/png", data="A" * (7 << 20)),) * 3, Text("at these"))
    large = UserMessage(content=parts, at=5, provenance=HUMAN, sender="x" * 100_000)
    (shown,) = past((entry(large),), (), str, scanner=StdlibScanner(), most_chars=10, most_bytes=10**9).rows
    content = shown["content"]
    assert isinstance(content, list)
    assert [one["type"] for one in map(as_object, content)] == ["text", "image", "image", "text", "text"]
    assert content[3] == {"type": "text", "text": "(left out: too large to be shown)"}
    assert content[4] == {"type": "text", "text": "at these"}
    assert (shown["role"], shown["__openclaw"]) == ("user", {"id": "e-1", "seq": 1, "senderIsOwner": True})
    assert "sender" not in shown
    assert len(encode(shown)) <= LARGEST
    lighter, size = fitting({"role": "user", "content": "x" * LARGEST})
    assert lighter["content"] == [content[3]]
    assert size == len(encode(lighter))


def test_the_words_of_an_event_are_one_block() -> None:
    assert text_message("hi", 5) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "hi"}],
        "timestamp": 5,
    }
