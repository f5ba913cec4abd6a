"""What of a transcript may be read back."""

import json
from dataclasses import replace

import pytest

from roost.core.entries import Entry
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Image,
    Message,
    Notice,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    text_of,
    tool_calls,
)
from roost.core.recall import (
    OMITTED,
    PAGE_BYTES,
    TRUNCATED,
    Recalling,
    RecallOptions,
    RecallPage,
    is_readable,
    recall,
    recalled_to_json,
)
from roost.scanners.stdlib import StdlibScanner
from tests.credentials import bare, in_context, mixed

SCANNER = StdlibScanner()
PLAIN = RecallOptions(scanner=SCANNER)
TOOLS = RecallOptions(scanner=SCANNER, include_tools=True)
KEY = "sk-" + mixed(30)
MASKED = f"{KEY[:6]}…{KEY[-4:]}"


def user(text: str) -> UserMessage:
    return UserMessage(content=(Text(text),), at=1, provenance=Provenance(kind=ProvenanceKind.HUMAN))


def said(text: str) -> AssistantMessage:
    return AssistantMessage(content=(Text(text),), at=2)


def called(arguments: JsonObject, name: str = "exec") -> AssistantMessage:
    return AssistantMessage(content=(ToolCall(id="c1", name=name, arguments=arguments),), at=2)


def answered(*texts: str) -> ToolResult:
    return ToolResult(call_id="c1", tool="exec", content=tuple(map(Text, texts)), at=3)


def entries(*bodies: Body) -> list[Entry]:
    return [Entry(session_id="s", seq=i, id=f"e{i}", body=body) for i, body in enumerate(bodies)]


def read(*bodies: Body, options: RecallOptions = PLAIN) -> RecallPage:
    return recall(entries(*bodies), options)


def only(page: RecallPage) -> Message:
    (recalled,) = page.messages
    return recalled.message


def ids(page: RecallPage) -> list[str]:
    return [recalled.id for recalled in page.messages]


def flags(page: RecallPage) -> set[str]:
    told = {
        "dropped": page.dropped_messages,
        "truncated": page.content_truncated,
        "redacted": page.content_redacted,
        "omitted": page.metadata_omitted,
    }
    return {name for name, is_set in told.items() if is_set}


def wire_size(page: RecallPage) -> int:
    messages = [recalled_to_json(recalled) for recalled in page.messages]
    return len(
        json.dumps(messages, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    )


def test_a_plain_conversation_is_read_back_as_it_was() -> None:
    page = read(user("Hi"), said("Hello"))
    assert [recalled.message for recalled in page.messages] == [user("Hi"), said("Hello")]
    assert ids(page) == ["e0", "e1"]
    assert flags(page) == set()
    assert not page.truncated
    assert page.size == wire_size(page)


def test_nothing_is_read_back_from_nothing() -> None:
    page = read()
    assert (page.messages, page.size, page.truncated) == ((), 2, False)


@pytest.mark.requirement("D11")
def test_tool_results_are_left_out_unless_asked_for_and_tool_calls_stay() -> None:
    bodies = (user("Hi"), called({"a": "b"}), answered("out"))
    assert ids(read(*bodies)) == ["e0", "e1"]
    assert ids(read(*bodies, options=TOOLS)) == ["e0", "e1", "e2"]
    assert not read(*bodies).truncated


def test_what_is_not_a_message_is_not_read_back() -> None:
    compaction = Compaction(summary="s", first_kept_id=None, tokens_before=1, at=1)
    assert ids(read(compaction, Notice(kind="reset", at=1, data={}), user("Hi"))) == ["e2"]


@pytest.mark.requirement("D07")
def test_the_newest_are_counted_after_everything_else_was_filtered_out() -> None:
    bodies = (user("1"), user("2"), said("3"), answered("x"), said("NO_REPLY"), answered("y"))
    assert ids(read(*bodies, options=replace(PLAIN, newest=2))) == ["e1", "e2"]
    assert ids(read(*bodies, options=replace(PLAIN, newest=0))) == []
    assert not read(*bodies, options=replace(PLAIN, newest=2)).truncated


@pytest.mark.requirement("D56")
def test_metadata_is_removed_and_its_removal_is_no_truncation() -> None:
    message = AssistantMessage(
        content=(Thinking(thinking="hm", signature="sig"), Text("Hi")), at=1, usage=Usage(input=1), model="m"
    )
    page = read(message)
    assert page.metadata_omitted
    assert not page.truncated
    assert only(page) == AssistantMessage(content=(Text("Hi"),), at=1, model="m")
    assert "usage" not in recalled_to_json(page.messages[0])


@pytest.mark.parametrize(
    "message",
    [
        replace(said("Hi"), usage=Usage(cost_micros=1)),
        AssistantMessage(content=(Thinking(thinking="hm", signature="x"), Text("Hi")), at=1),
        ToolResult(call_id="c", tool="t", content=(), at=1, details={"a": 1}),
        called({"message": "note to myself", "wait": 1}, name="sessions_yield"),
    ],
)
def test_every_kind_of_metadata_is_told_as_such(message: Message) -> None:
    page = read(message, options=TOOLS)
    assert flags(page) == {"omitted"}
    wire = json.dumps(recalled_to_json(page.messages[0]))
    assert not any(word in wire for word in ("usage", "details", "thinkingSignature", "note to myself"))


@pytest.mark.requirement("D56")
def test_an_image_is_replaced_by_a_mark_and_told_as_truncation() -> None:
    message = replace(user("look"), content=(Text("look"), Image(mime="image/png", data="A" * 400)))
    page = read(message)
    assert text_of(only(page)) == "look\n[image omitted: image/png, 300 bytes]"
    assert page.content_truncated


def test_inline_data_is_replaced_by_a_mark() -> None:
    page = read(user(f"see data:image/png;charset=x;base64,{mixed(80)} here"))
    assert text_of(only(page)) == "see [image/png data omitted] here"
    assert page.content_truncated


def test_a_short_or_other_mention_of_inline_data_stays() -> None:
    text = "data:image/png;base64,AAAA and ;base64, alone"
    assert text_of(only(read(user(text)))) == text


@pytest.mark.requirement("D56")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('Look. <tool_call>{"name": "x"', "Look."),
        ("use the <tool_call> tag", "use the <tool_call> tag"),
        ("```\nuse <tool_call>{}\n```", "```\nuse <tool_call>{}\n```"),
        ("<|assistant|>Hi", "Hi"),
    ],
)
def test_assistant_text_is_filtered(text: str, left: str) -> None:
    assert text_of(only(read(said(text)))) == left


@pytest.mark.requirement("D56")
@pytest.mark.parametrize("text", ["<think>a</think>b", "<|x|>", "NO_REPLY", '<tool_call>{"a":1}'])
def test_user_and_tool_text_is_not_filtered(text: str) -> None:
    page = read(user(text), answered(text), options=TOOLS)
    assert [text_of(recalled.message) for recalled in page.messages] == [text, text]


@pytest.mark.requirement("D56")
@pytest.mark.parametrize("text", ["NO_REPLY", "<think>x</think>", "HEARTBEAT_OK"])
def test_a_message_that_says_nothing_is_dropped_without_a_flag(text: str) -> None:
    page = read(user("Hi"), said(text))
    assert ids(page) == ["e0"]
    assert not page.truncated


@pytest.mark.requirement("D56")
def test_reasoning_is_told_to_nobody_and_silence_drops_no_tool_call_and_no_error() -> None:
    thought, silence = Thinking(thinking="hm"), Text("NO_REPLY")
    call = ToolCall(id="c", name="exec", arguments={})
    assert read(AssistantMessage(content=(thought, silence), at=1)).messages == ()
    assert only(read(AssistantMessage(content=(silence, call), at=1))).content == (call,)
    assert only(read(AssistantMessage(content=(silence,), at=1, error="broke"))).content == ()
    assert read(AssistantMessage(content=(thought,), at=1)).messages == ()
    assert only(read(AssistantMessage(content=(), at=1))).content == ()


@pytest.mark.requirement("D56", "P24")
def test_a_key_is_masked_and_told_in_every_role() -> None:
    failed, named = replace(said("Hm"), error=f"401 for {KEY}"), replace(user("Hi"), sender=f"Ann {KEY}")
    for message in (user(f"my {KEY}"), said(f"your {KEY}"), answered(f"a {KEY}"), failed, named):
        page = read(message, options=TOOLS)
        wire = json.dumps(recalled_to_json(page.messages[0]), ensure_ascii=False)
        assert KEY not in wire
        assert MASKED in wire
        assert page.content_redacted
        assert not page.truncated


@pytest.mark.requirement("P24")
def test_no_kind_of_credential_leaves_by_any_role() -> None:
    planted = [(secret, secret) for secret in bare().values()]
    planted += [(context.text, context.secret) for context in in_context()]
    for text, secret in planted:
        page = read(user(text), said(text), called({"a": [text]}), answered(text), options=TOOLS)
        wire = json.dumps([recalled_to_json(recalled) for recalled in page.messages], ensure_ascii=False)
        assert json.dumps(secret, ensure_ascii=False)[1:-1] not in wire
        assert page.content_redacted


@pytest.mark.requirement("P24")
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"password": "hunter2"}, {"password": "***"}),
        (
            {"headers": {"Authorization": f"Custom {KEY}"}},
            {"headers": {"Authorization": "Custom…" + KEY[-4:]}},
        ),
        (
            {"argv": ["run", f"--key={KEY}", 1, None, True]},
            {"argv": ["run", f"--key={MASKED}", 1, None, True]},
        ),
        ({KEY: 1}, {MASKED: 1}),
        ({"password": 12345678, "pin": 4711}, {"password": "***", "pin": 4711}),
        (
            {"token": {"value": "hunter", KEY: [1.5, {"a": "hunter"}], "sent": True, "kind": None}},
            {"token": {"value": "***", MASKED: ["***", {"a": "***"}], "sent": True, "kind": None}},
        ),
    ],
)
def test_secrets_in_tool_arguments_are_masked_by_look_and_by_name(
    arguments: JsonObject, shown: JsonObject
) -> None:
    page = read(called(arguments))
    assert tool_calls(only(page))[0].arguments == shown
    assert page.content_redacted


@pytest.mark.parametrize("value", ["$TOKEN", "${TOKEN}", "<token>", "", None])
def test_a_reference_to_a_secret_is_shown(value: str | None) -> None:
    page = read(called({"token": value}))
    assert tool_calls(only(page))[0].arguments == {"token": value}
    assert not page.content_redacted


@pytest.mark.requirement("D56")
@pytest.mark.parametrize("length", [3_999, 4_000, 4_001, 5_000])
def test_a_long_text_is_cut_at_four_thousand_characters(length: int) -> None:
    page = read(user("é" * length))
    assert page.content_truncated == (length > 4_000)
    assert text_of(only(page)) == "é" * min(length, 4_000) + (f"\n{TRUNCATED}" if length > 4_000 else "")
    assert page.truncated == page.content_truncated
    assert not page.dropped_messages


def test_every_text_of_a_message_has_its_own_cap() -> None:
    long = "x" * 5_000
    message = AssistantMessage(
        content=(
            Text(long),
            ToolCall(id="c", name="t", arguments={"a": {"b": long}}),
        ),
        at=1,
        error=long,
    )
    wire = recalled_to_json(read(message).messages[0])
    assert json.dumps(wire, ensure_ascii=False).count(TRUNCATED) == 3


def test_a_secret_across_the_cap_is_masked_before_the_cut() -> None:
    page = read(user("x " * 1_990 + KEY + " y" * 100))
    assert KEY[:12] not in text_of(only(page))
    assert page.content_truncated
    assert page.content_redacted


def test_arguments_nested_without_end_are_cut() -> None:
    deep: JsonValue = "bottom"
    for _ in range(500):
        deep = [deep]
    page = read(called({"a": deep}))
    assert page.content_truncated
    assert TRUNCATED in json.dumps(recalled_to_json(page.messages[0]), ensure_ascii=False)


@pytest.mark.requirement("D56")
def test_the_oldest_are_dropped_until_the_page_fits() -> None:
    page = read(*(user(f"{number:04}" * 1_000) for number in range(30)))
    assert page.dropped_messages
    assert page.truncated
    assert not page.content_truncated
    assert page.size == wire_size(page) <= PAGE_BYTES
    assert ids(page) == [f"e{number}" for number in range(30 - len(page.messages), 30)]
    one_more = page.size + page.size // len(page.messages)
    assert one_more > PAGE_BYTES


def test_a_page_that_fits_to_the_byte_is_whole() -> None:
    bodies = (user("ä" * 10), said("b" * 10))
    size = read(*bodies).size
    assert not read(*bodies, options=replace(PLAIN, page_bytes=size)).dropped_messages
    assert ids(read(*bodies, options=replace(PLAIN, page_bytes=size - 1))) == ["e1"]


def test_flags_tell_only_what_was_done_to_the_messages_on_the_page() -> None:
    bodies = (replace(said(KEY * 200), usage=Usage(input=1)), user("z" * 300))
    page = read(*bodies, options=replace(PLAIN, page_bytes=500))
    assert ids(page) == ["e1"]
    assert flags(page) == {"dropped"}


@pytest.mark.requirement("D56")
def test_a_newest_message_too_large_for_the_page_becomes_a_placeholder() -> None:
    huge = answered(*["z" * 4_000] * 50)
    page = read(user("Hi"), huge, options=TOOLS)
    assert only(page) == AssistantMessage(content=(Text(OMITTED),), at=3)
    assert ids(page) == ["e1"]
    assert page.dropped_messages
    assert page.truncated
    assert page.size == wire_size(page)


@pytest.mark.requirement("D56")
@pytest.mark.parametrize("step", [1, 7, 40])
@pytest.mark.parametrize(
    "options",
    [PLAIN, replace(PLAIN, newest=12), replace(PLAIN, page_bytes=2_000), replace(PLAIN, page_bytes=40)],
)
def test_a_page_made_in_steps_is_the_one_made_at_once(step: int, options: RecallOptions) -> None:
    talk: list[Body] = [user(f"{number}: {KEY if number % 9 == 0 else 'hello'}") for number in range(40)]
    talk[20:20] = [said("NO_REPLY")] * 5
    rows, recalling = entries(*talk), Recalling(options)
    for end in range(len(rows), 0, -step):
        recalling.add(rows[max(end - step, 0) : end])
    assert recalling.page() == recall(rows, options)


def test_what_is_missing_from_a_page_is_told_by_what_is_on_it() -> None:
    few = entries(user("a" * 100), user("b" * 100))
    half = 2 * recall(few, PLAIN).size
    for options, missing in ((replace(PLAIN, page_bytes=half), 2), (replace(PLAIN, newest=5), 3)):
        recalling = Recalling(options)
        recalling.add(few)
        assert recalling.missing(len(few)) == missing
    silent = Recalling(replace(PLAIN, newest=5))
    silent.add(entries(said("NO_REPLY"), said("NO_REPLY")))
    assert silent.missing(2) == 10


def test_a_message_is_told_with_the_place_of_its_entry() -> None:
    page = read(user("Hi"), said("NO_REPLY"), said("Hello"))
    assert [(one.id, one.session_id, one.seq) for one in page.messages] == [("e0", "s", 0), ("e2", "s", 2)]


def test_what_would_not_be_read_back_is_known_beforehand() -> None:
    bodies = (user("Hi"), said("NO_REPLY"), answered("out"), Notice(kind="reset", at=1, data={}))
    assert [is_readable(entry, PLAIN) for entry in entries(*bodies)] == [True, False, False, False]
    assert [is_readable(entry, TOOLS) for entry in entries(answered("out"))] == [True]


def test_a_message_keeps_its_transcript_form_on_the_wire() -> None:
    page = read(user("Hi"), called({"a": 1}), answered("out"), options=TOOLS)
    asked, call, result = map(recalled_to_json, page.messages)
    assert (asked["role"], asked["content"], asked["id"]) == ("user", "Hi", "e0")
    assert call["content"] == [{"type": "toolCall", "id": "c1", "name": "exec", "arguments": {"a": 1}}]
    assert (result["role"], result["toolCallId"], result["isError"]) == ("toolResult", "c1", False)
