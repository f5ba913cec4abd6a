"""Entries of a transcript as the rows that clients show, without the secrets in them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar, assert_never

from roost.core.entries import Entry
from roost.core.footers import UsageLevel, reasoning_of, usage_level
from roost.core.inbound import InboundRecord
from roost.core.jsonl_messages import message_to_json
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.ledger import Counted
from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Compaction,
    Message,
    Notice,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserBlock,
    UserMessage,
)
from roost.core.redaction import Prescanned, SecretScanner, redact
from roost.core.secretfields import concealed, is_secret_field
from roost.core.sessions import Generation, OpenedBy, Overrides
from roost.protocol.events import META, NO_MODEL
from roost.protocol.frames import encode

M = TypeVar("M", UserMessage, AssistantMessage, ToolResult)

INJECTED: JsonObject = {"model": NO_MODEL, "provider": "roost"}
"""What stands where a model is named, in what the gateway says itself."""
CUT = "\n…(cut)"
LARGEST = 16 * 1024 * 1024
"""Of a row, or of several: beside them an answer holds other things, and who is sent a frame of more than 25 MiB breaks off."""
_LEFT_OUT: JsonObject = {"type": "text", "text": "(left out: too large to be shown)"}
_SMALL = 64 * 1024
_AFRESH = frozenset({OpenedBy.NEW, OpenedBy.RESET, OpenedBy.DAILY, OpenedBy.IDLE})
_GOES_ON = frozenset({OpenedBy.FORK, OpenedBy.BRANCH, OpenedBy.BACK})
_UNTOLD: Mapping[str, str] = MappingProxyType({})


def message_row(
    entry: Entry, run_name: str | None, most_chars: int, scanner: SecretScanner
) -> JsonObject | None:
    """None for what is no part of the conversation."""
    meta: dict[str, JsonValue] = {"id": entry.id, "seq": entry.seq}
    if run_name is not None:
        meta["runId"] = run_name
    match entry.body:
        case Notice():
            return None
        case Compaction() as compaction:
            meta |= {"kind": "compaction", "tokensBefore": compaction.tokens_before}
            text = "Earlier messages were condensed."
            return {"role": "system", "content": text, "timestamp": compaction.at, META: meta}
        case UserMessage() as said:
            owns = said.provenance.principal.is_owner and said.provenance.kind is ProvenanceKind.HUMAN
            meta["senderIsOwner"] = owns
            named = {} if run_name is None else {"idempotencyKey": f"{run_name}:user"}
            return {**message_to_json(_cut(masked_message(said, scanner), most_chars)), **named, META: meta}
        case AssistantMessage() as words:
            row = message_to_json(_cut(masked_message(words, scanner), most_chars))
            return {**row, **(INJECTED if not words.model and not words.provider else {}), META: meta}
        case ToolResult() as result:
            return {**message_to_json(_cut(masked_message(result, scanner), most_chars)), META: meta}
        case other:
            assert_never(other)


def fitting(row: JsonObject) -> tuple[JsonObject, int]:
    """A row that clients can take, and its size. Of one that is too large the largest parts are left out."""
    size = len(encode(row))
    if size <= LARGEST:
        return row, size
    small = {name: value for name, value in row.items() if len(encode(value)) <= _SMALL}
    content, room, kept = row.get("content"), LARGEST - len(encode(small)), list[JsonValue]()
    for block in content if isinstance(content, list) else ():
        needed = len(encode(block))
        fits = needed <= room
        kept.append(block if fits else _LEFT_OUT)
        room -= needed if fits else 0
    lighter = {**small, "content": kept or [_LEFT_OUT]}
    return lighter, len(encode(lighter))


def waiting_row(
    record: InboundRecord, run_name: str | None, most_chars: int, scanner: SecretScanner
) -> JsonObject:
    """What was said and no run has read yet: its words only, for its pictures come with it when one has."""
    inbound = record.inbound
    said = UserMessage(
        content=tuple(block for block in inbound.content if isinstance(block, Text)),
        at=inbound.received_at,
        provenance=inbound.provenance,
        sender=inbound.sender_name,
    )
    message = message_row(Entry("", 0, inbound.id, said), run_name, most_chars, scanner)
    named: dict[str, JsonValue] = {} if run_name is None else {"runId": run_name}
    return {
        "id": inbound.id,
        **named,
        "message": message,
        "acceptedAt": inbound.received_at,
        "state": "queued",
    }


def generation_row(generation: Generation) -> JsonObject:
    """The mark at which a conversation starts afresh, or goes on from an earlier one."""
    afresh = generation.opened_by in _AFRESH
    meta: JsonObject = {
        "id": generation.session_id,
        "seq": 0,
        "kind": "reset" if afresh else "branch",
        "reason": str(generation.opened_by),
        "rule": generation.rule,
    }
    text = "New conversation." if afresh else "Goes on from an earlier conversation."
    return {"role": "system", "content": text, "timestamp": generation.opened_at, META: meta}


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Rows, oldest first, and how many entries they stand for."""

    rows: list[JsonObject]
    entries: int


def past(
    entries: Sequence[Entry],
    generations: Sequence[Generation],
    name_of: Callable[[str], str],
    *,
    scanner: SecretScanner,
    most_chars: int,
    most_bytes: int,
    reasons: Mapping[str, str] = _UNTOLD,
) -> Past:
    """The newest entries that fit, at least one, which may need more but no more than any client can take; each generation that was begun on purpose after its mark. `reasons` are why
    a model took over, by the entry it began with."""
    marks = {one.session_id: one for one in generations if one.opened_by in _AFRESH | _GOES_ON}
    rows, room, told = list[JsonObject](), min(most_bytes, LARGEST), 0
    swept = Prescanned([text for entry in entries for text in _texts(entry)], scanner)
    for entry in reversed(entries):
        row = message_row(entry, name_of(entry.run_id) if entry.run_id else None, most_chars, swept)
        if row is not None:
            if reason := reasons.get(entry.id):
                row = _because(row, reason)
            row, size = fitting(row)
            room -= size
            if room < 0 and rows:
                break
            rows.append(row)
        told += 1
        if entry.seq == 1 and entry.session_id in marks:
            rows.append(generation_row(marks[entry.session_id]))
    if not entries and marks:
        rows.append(generation_row(next(iter(marks.values()))))
    return Past(rows=rows[::-1], entries=told)


def _because(row: JsonObject, reason: str) -> JsonObject:
    meta = row[META]
    assert isinstance(meta, dict)
    return {**row, META: {**meta, "modelReason": reason}}


def text_message(text: str, at: int) -> JsonObject:
    """The words of an agent as a `chat` event holds them."""
    return {"role": "assistant", "content": [{"type": "text", "text": text}], "timestamp": at}


def answer_message(
    text: str, words: AssistantMessage, took: Counted, overrides: Overrides, at: int
) -> JsonObject:
    """The same of a whole answer, with the reasoning and the figures that its session shows."""
    thoughts, level = reasoning_of(words, overrides), usage_level(overrides)
    before: list[JsonValue] = [{"type": "thinking", "thinking": thoughts}] if thoughts else []
    message: dict[str, JsonValue] = {
        "role": "assistant",
        "content": [*before, {"type": "text", "text": text}],
        "timestamp": at,
    }
    if level is not UsageLevel.OFF:
        message["usage"] = _usage(words, took, priced=level is UsageLevel.FULL)
    if level is UsageLevel.FULL:
        message |= {"provider": words.provider, "model": words.model}
    return message


def _usage(words: AssistantMessage, took: Counted, *, priced: bool) -> JsonObject:
    used = message_to_json(replace(words, usage=took.usage))["usage"]
    assert isinstance(used, dict)
    shown = {name: value for name, value in used.items() if priced or name != "cost"}
    return {**shown, "estimated": True} if took.estimated else shown


def _texts(entry: Entry) -> Iterator[str]:
    """What is masked of an entry."""
    if isinstance(entry.body, Message):
        for block in entry.body.content:
            yield from _strings(block.arguments) if isinstance(block, ToolCall) else (_words(block),)
    match entry.body:
        case ToolResult(details=details):
            yield from _strings(details)
        case UserMessage(sender=str(name)):
            yield name
        case _:
            pass


def _strings(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for one in value:
                yield from _strings(one)
        case dict():
            for name, one in value.items():
                yield name
                yield from _strings(one)


def masked_message(message: M, scanner: SecretScanner) -> M:
    """Masked before it is cut: a piece of a secret is not known for one."""
    match message:
        case AssistantMessage(error=error):
            told = None if error is None else redact(error, scanner)[0]
            content = tuple(_hidden(block, scanner) for block in message.content)
            return replace(message, content=content, error=told)
        case ToolResult(details=details):
            shown = None if details is None else masked_fields(details, scanner)
            return replace(message, content=_covered(message.content, scanner), details=shown)
        case UserMessage(sender=sender):
            name = None if sender is None else redact(sender, scanner)[0]
            return replace(message, content=_covered(message.content, scanner), sender=name)
        case other:
            assert_never(other)


def _covered(blocks: tuple[UserBlock, ...], scanner: SecretScanner) -> tuple[UserBlock, ...]:
    return tuple(
        Text(redact(block.text, scanner)[0]) if isinstance(block, Text) else block for block in blocks
    )


def _hidden(block: AssistantBlock, scanner: SecretScanner) -> AssistantBlock:
    match block:
        case Text(text=words):
            return Text(redact(words, scanner)[0])
        case Thinking(thinking=words):
            return replace(block, thinking=redact(words, scanner)[0])
        case ToolCall(arguments=arguments):
            return replace(block, arguments=masked_fields(arguments, scanner))
        case other:
            assert_never(other)


def masked_fields(fields: JsonObject, scanner: SecretScanner) -> JsonObject:
    """What a tool is given or gives, without the secrets in it."""
    return {
        redact(name, scanner)[0]: _json(concealed(value) if is_secret_field(name) else value, scanner)
        for name, value in fields.items()
    }


def _json(value: JsonValue, scanner: SecretScanner) -> JsonValue:
    match value:
        case str():
            return redact(value, scanner)[0]
        case list():
            return [_json(one, scanner) for one in value]
        case dict():
            return masked_fields(value, scanner)
        case _:
            return value


def _cut(message: Message, most: int) -> Message:
    if all(len(_words(block)) <= most for block in message.content):
        return message
    match message:
        case AssistantMessage():
            return replace(message, content=tuple(_shortened(block, most) for block in message.content))
        case _:
            blocks = tuple(
                Text(block.text[:most] + CUT) if isinstance(block, Text) and len(block.text) > most else block
                for block in message.content
            )
            return replace(message, content=blocks)


def _words(block: AssistantBlock | UserBlock) -> str:
    match block:
        case Text(text=words):
            return words
        case Thinking(thinking=words):
            return words
        case _:
            return ""


def _shortened(block: AssistantBlock, most: int) -> AssistantBlock:
    match block:
        case Text(text=words) if len(words) > most:
            return Text(words[:most] + CUT)
        case Thinking(thinking=words) if len(words) > most:
            return Thinking(thinking=words[:most] + CUT)
        case _:
            return block
