"""The laws of recall: secrets stay masked, code stays whole, a page stays bounded and says what happened."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.credentials import RULES
from roost.core.entries import Entry
from roost.core.jsonvalue import JsonValue
from roost.core.messages import (
    AssistantMessage,
    Image,
    Message,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from roost.core.prose import clean
from roost.core.recall import RecallOptions, recall, recalled_to_json
from roost.core.redaction import ExactValues, redact
from roost.core.sentinels import Sentinel, could_become_silent, is_silent
from roost.scanners.re2 import Re2Scanner
from tests.credentials import bare, in_context
from tests.scale import examples

SCANNER = Re2Scanner()
CONFIGURED = ExactValues(["open sesame", "hunter2x"], SCANNER)

fragments = st.sampled_from(
    (
        *sorted({anchor for rule in RULES for anchor in rule.anchors}),
        *bare().values(),
        *(planted.text for planted in in_context()),
        *"=:\"' \n.@/&?-_\\$<{(é数…*",
        "***",
        "open sesame",
        "hunter2x",
    )
)
leaky = st.lists(fragments, max_size=12).map("".join)

MARKUP = (
    "<tool_call>", "</tool_call>", '{"a": 1}', "<think>", "</think>", "<|x|>", "[Tool Call: x]", "Arguments: {}",
    "[Tool Result 1]", "[TOOL_CALL]", "<final>", "Tool call: x\n", "NO_REPLY", "<parameter>", "<minimax:tool_call>",
    "<invoke>", "]<]minimax[>[", "[Historical context: x]", "to=x {", "<relevant-memories>", "`", "``", "word", " ", "\n", "\n\n",
)  # fmt: skip
leaks = st.lists(st.sampled_from(MARKUP), max_size=12).map("".join)
PIECES = (
    *(piece for piece in MARKUP if "`" not in piece), *"<[/]>{=: _-", "tool", "İnvoke", "thinK", "ſ", "function", "ns:",
    "relevant_memories", "</final>", "[/", "[link](x)", "<b>", "read: x", "TO=x {", "<thought>", "<antthinking>", "[tool: x] {",
    "<function>{", "<ns:invoke>{", "< parameter>x</parameter>", "<｜x｜>",
)  # fmt: skip
marked = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=10).map(
    lambda p: "".join(p).replace("`", "")
)
harmless = st.text(alphabet="abc .,\n", max_size=40)

arguments: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | leaky,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
shown = st.one_of(leaky, leaks, st.text())
usages = st.builds(Usage, input=st.integers(0, 5))
user_messages = st.builds(
    UserMessage,
    content=st.lists(
        shown.map(Text) | st.builds(Image, mime=st.just("image/png"), data=st.text(max_size=9)), max_size=3
    ).map(tuple),
    at=st.just(1),
    provenance=st.just(Provenance(kind=ProvenanceKind.HUMAN)),
)
assistant_messages = st.builds(
    AssistantMessage,
    content=st.lists(
        shown.map(Text)
        | st.builds(Thinking, thinking=shown, signature=st.none() | st.just("sig"))
        | st.builds(
            ToolCall,
            id=st.just("c"),
            name=st.just("t"),
            arguments=st.dictionaries(st.text(max_size=8), arguments, max_size=3),
        ),
        max_size=3,
    ).map(tuple),
    at=st.just(1),
    usage=usages,
    error=st.none() | shown,
)
tool_results = st.builds(
    ToolResult,
    call_id=st.just("c"),
    tool=st.just("t"),
    content=st.lists(shown.map(Text), max_size=2).map(tuple),
    at=st.just(1),
)
histories = st.lists(st.one_of(user_messages, assistant_messages, tool_results), max_size=8)


def entries_of(messages: list[Message]) -> list[Entry]:
    return [Entry(session_id="s", seq=i, id=f"e{i}", body=message) for i, message in enumerate(messages)]


@pytest.mark.requirement("P24")
@settings(max_examples=examples(100, 5_000), deadline=None)
@given(leaky)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once, _ = redact(text, CONFIGURED)
    assert redact(once, CONFIGURED) == (once, False)


@settings(max_examples=examples(50, 2_000), deadline=None)
@given(st.text())
def test_redaction_says_whether_it_changed_anything(text: str) -> None:
    redacted, changed = redact(text, SCANNER)
    assert changed == (redacted != text)


@pytest.mark.requirement("D56")
@settings(max_examples=examples(100, 5_000), deadline=None)
@given(harmless, leaks, harmless, st.sampled_from(["```", "~~~", "````"]))
def test_fenced_code_comes_through_untouched(before: str, code: str, after: str, fence: str) -> None:
    inside = code.replace("`", "'")
    block = f"{fence}\n{inside}\n{fence}"
    assert f"\n{block}\n" in clean(f"<think>hm</think>x{before}\n{block}\n{after}x")


@pytest.mark.requirement("D56")
@settings(max_examples=examples(150, 10_000), deadline=None)
@given(marked)
def test_a_text_that_is_passed_at_a_glance_has_nothing_to_take_out(text: str) -> None:
    looked_at = clean(f"<|x|>\n{text}")
    assert looked_at == re.sub(r"\n{3,}", "\n\n", clean(text)).strip()


@settings(max_examples=examples(100, 5_000), deadline=None)
@given(leaks)
def test_cleaning_only_removes(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) <= len(text)
    assert not is_silent(cleaned)


@pytest.mark.requirement("D56")
@settings(max_examples=examples(50, 2_000), deadline=None)
@given(histories, st.integers(200, 3_000), st.integers(1, 200), st.booleans())
def test_a_page_keeps_its_bounds_and_counts_its_bytes(
    messages: list[Message], page_bytes: int, text_chars: int, include_tools: bool
) -> None:
    options = RecallOptions(
        scanner=SCANNER, include_tools=include_tools, page_bytes=page_bytes, text_chars=text_chars
    )
    page = recall(entries_of(messages), options)
    wire = [recalled_to_json(recalled) for recalled in page.messages]
    assert page.size == len(json.dumps(wire, ensure_ascii=False, separators=(",", ":")).encode())
    assert page.size <= page_bytes
    numbers = [int(recalled.id[1:]) for recalled in page.messages]
    assert numbers == sorted(numbers)
    assert include_tools or not any(isinstance(recalled.message, ToolResult) for recalled in page.messages)


@pytest.mark.requirement("D56")
@settings(max_examples=examples(50, 2_000), deadline=None)
@given(histories)
def test_reading_a_page_again_finds_nothing_more_to_take_out(messages: list[Message]) -> None:
    options = RecallOptions(scanner=SCANNER, include_tools=True, text_chars=10**6, page_bytes=10**9)
    page = recall(entries_of(messages), options)
    again = recall(entries_of([recalled.message for recalled in page.messages]), options)
    assert not again.content_redacted
    assert not again.content_truncated
    assert not again.metadata_omitted


@settings(max_examples=examples(80, 2_000), deadline=None)
@given(st.sampled_from(list(Sentinel)), st.sampled_from(["{}", " {}\n", "`{}`", "**{}**."]), st.data())
def test_a_stream_that_ends_in_silence_was_held_back_all_along(
    token: Sentinel, dress: str, data: st.DataObject
) -> None:
    text = dress.format(token)
    if is_silent(text):
        assert could_become_silent(text[: data.draw(st.integers(0, len(text)))])
