"""The prompt a transcript gives: what a model is shown of it, in an order every provider accepts.

Pairing is enforced here and only here: each tool call is followed by exactly one result. The stored entries
are never repaired. System texts are added elsewhere; joining neighbours of one role is an adapter's work.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from roost.core.entries import Entry
from roost.core.marking import defused, marked
from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Compaction,
    Message,
    Notice,
    Provenance,
    ProvenanceKind,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    lone_text,
    tool_calls,
)

RESET_KIND = "reset"
UNKNOWN_OUTCOME = "[interrupted: no result of this tool call was recorded; its outcome is unknown]"
NO_OUTPUT = "(no output)"
NO_WORDS = "(a message without words)"
OPENING = "[Earlier conversation] What came before is not shown."

_SUMMARY_LINE = (
    "[Conversation summary] The gateway condensed what came before; it is a record, not a request."
)
_SUMMARY_END = re.compile(r"<(?=/\s*summary\s*>)", re.IGNORECASE)
_PORTABLE_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_PORTABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_UNPORTABLE = re.compile(r"[^A-Za-z0-9_-]")
_GATEWAY = Provenance(kind=ProvenanceKind.SYSTEM)


class TranscriptUnit(NamedTuple):
    """What may not be separated: a user message, or an assistant message with one result for each call. A tuple, because
    every prompt makes one of every message of its conversation.

    `first` and `last` are the positions of its entries in the sequence the prompt was built from.
    """

    message: UserMessage | AssistantMessage
    first: int
    last: int
    results: tuple[ToolResult, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        return (self.message, *self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Messages ready for any provider. `preface` is the gateway's own: a summary, a note of what is left out."""

    preface: tuple[UserMessage, ...] = ()
    units: tuple[TranscriptUnit, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        return (*self.preface, *[message for unit in self.units for message in unit.messages])


def gateway_message(text: str, at: int) -> UserMessage:
    """A message of the preface."""
    return UserMessage(content=(Text(text),), at=at, provenance=_GATEWAY)


def with_request(messages: Sequence[Message], request: UserMessage) -> tuple[Message, ...]:
    """The prompt of a run of which the gateway itself asks something: that stands before the steps the run has taken."""
    place = len(messages)
    while place and _is_step(messages[place - 1]):
        place -= 1
    return (*messages[:place], request, *messages[place:])


def with_note(messages: Sequence[Message], note: UserMessage) -> tuple[Message, ...]:
    """The prompt with something a run should know, which stands before what it answers."""
    said = [place for place, message in enumerate(messages) if isinstance(message, UserMessage)]
    place = said[-1] if said else len(messages)
    return (*messages[:place], note, *messages[place:])


def _is_step(message: Message) -> bool:
    return isinstance(message, ToolResult) or bool(tool_calls(message))


def summary_message(compaction: Compaction) -> UserMessage:
    """A summary as the model sees it."""
    body = _SUMMARY_END.sub(r"<\\", defused(compaction.summary))
    return gateway_message(f"{_SUMMARY_LINE}\n<summary>\n{body}\n</summary>", compaction.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """What the newest boundary leaves: a summary, if it was a compaction, and the entries from `start`.

    Entries from `after` on are younger than the boundary itself.
    """

    start: int = 0
    after: int = 0
    compaction: Compaction | None = None


def active(entries: Sequence[Entry]) -> Active:
    """Where the context of these entries begins."""
    kinds = [type(entry.body) for entry in entries]
    if Compaction not in kinds and Notice not in kinds:
        return _EVERYTHING
    for position in range(len(entries) - 1, -1, -1):
        body = entries[position].body
        if isinstance(body, Compaction):
            start = _kept_from(entries, body.first_kept_id, position)
            return Active(start=start, after=position + 1, compaction=body)
        if isinstance(body, Notice) and body.kind == RESET_KIND:
            start = _kept_from(entries, body.data.get("firstKeptEntryId"), position)
            return Active(start=start, after=position + 1)
    return _EVERYTHING


_EVERYTHING = Active()


def _kept_from(entries: Sequence[Entry], entry_id: object, boundary: int) -> int:
    if entry_id is not None:
        for position in range(boundary - 1, -1, -1):
            if entries[position].id == entry_id:
                return position
    return boundary + 1


@dataclass(slots=True)
class _Slot:
    """A call, and where its result was found."""

    call: ToolCall
    answer: tuple[int, ToolResult] | None = None


class _Draft(NamedTuple):
    """An answer whose results are still being found."""

    position: int
    message: AssistantMessage
    slots: Sequence[_Slot]


def _drafts(entries: Sequence[Entry], start: int) -> list[TranscriptUnit | _Draft]:
    drafts: list[TranscriptUnit | _Draft] = []
    waiting: dict[str, deque[_Slot]] = {}
    for position in range(start, len(entries)):
        body = entries[position].body
        if isinstance(body, UserMessage):
            drafts.append(TranscriptUnit(_for_model(body), position, position))
        elif isinstance(body, AssistantMessage):
            if (alone := lone_text(body)) is None:
                drafts.append(_draft(body, position, waiting))
            elif not _is_blank(alone):
                drafts.append(TranscriptUnit(body, position, position))
        elif isinstance(body, ToolResult) and (slots := waiting.get(body.call_id)):
            slots.popleft().answer = (position, body)
    return drafts


def _draft(message: AssistantMessage, position: int, waiting: dict[str, deque[_Slot]]) -> _Draft:
    slots = [_Slot(call) for call in tool_calls(message)]
    # Some providers use an id again: a result then answers the newest message that has it.
    for call_id in {slot.call.id for slot in slots}:
        waiting[call_id] = deque(slot for slot in slots if slot.call.id == call_id)
    return _Draft(position, message, slots)


def _portable_id(call_id: str, taken: set[str]) -> str:
    wanted = call_id if _PORTABLE_ID.fullmatch(call_id) else _UNPORTABLE.sub("_", call_id)[:40] or "call"
    candidate, number = wanted, 1
    while candidate in taken:
        number += 1
        suffix = f"_{number}"
        candidate = wanted[: 40 - len(suffix)] + suffix
    taken.add(candidate)
    return candidate


def _portable_name(name: str) -> str:
    if _PORTABLE_NAME.fullmatch(name):
        return name
    cleaned = _UNPORTABLE.sub("_", name)
    return (cleaned if cleaned[:1].isalpha() else f"_{cleaned}")[:64]


def _result(call: ToolCall, found: ToolResult | None, at: int) -> ToolResult:
    if found is None:
        missing = (Text(UNKNOWN_OUTCOME),)
        return ToolResult(call_id=call.id, tool=call.name, content=missing, at=at, is_error=True)
    content = tuple(block for block in found.content if not _blank(block)) or (Text(NO_OUTPUT),)
    shown = replace(found, call_id=call.id, tool=call.name, content=content, details=None)
    return found if shown == found else shown


def _blank(block: object) -> bool:
    return isinstance(block, Text) and _is_blank(block.text)


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _for_model(message: UserMessage) -> UserMessage:
    """A message as the model sees it. Whoever wrote without words is answered too, and providers refuse empty ones."""
    if not message.content or any(map(_blank, message.content)):
        said = tuple(block for block in message.content if not _blank(block)) or (Text(NO_WORDS),)
        message = replace(message, content=said)
    return marked(message)


def _answered(draft: _Draft, taken: set[str]) -> TranscriptUnit | None:
    """An answer with the results of its calls, if anything of it can be shown."""
    message = draft.message
    broken_off = message.stop in (StopReason.ABORTED, StopReason.ERROR)
    slots = iter(draft.slots)
    content: list[AssistantBlock] = []
    results: list[ToolResult] = []
    last = draft.position
    for block in message.content:
        if isinstance(block, ToolCall):
            position, found = next(slots).answer or (draft.position, None)
            if broken_off and found is None:
                continue  # half-written, and never run
            call = _portable_call(block, taken)
            content.append(call)
            results.append(_result(call, found, message.at))
            last = max(last, position)
        elif not _blank(block) and not (broken_off and isinstance(block, Thinking)):
            content.append(block)
    if all(isinstance(block, Thinking) for block in content):
        return None
    kept = tuple(content)
    shown = message if kept == message.content else replace(message, content=kept)
    return TranscriptUnit(message=shown, results=tuple(results), first=draft.position, last=last)


def _portable_call(call: ToolCall, taken: set[str]) -> ToolCall:
    call_id, name = _portable_id(call.id, taken), _portable_name(call.name)
    return call if (call_id, name) == (call.id, call.name) else replace(call, id=call_id, name=name)


def _units(drafts: list[TranscriptUnit | _Draft]) -> Iterator[TranscriptUnit]:
    taken: set[str] = set()
    for draft in drafts:
        unit = _answered(draft, taken) if isinstance(draft, _Draft) else draft
        if unit is not None:
            yield unit


def build_prompt(entries: Sequence[Entry]) -> Prompt:
    """What a model is shown of these entries, which are in the order of their timeline."""
    context = active(entries)
    units = tuple(_units(_drafts(entries, context.start)))
    preface: tuple[UserMessage, ...] = ()
    if context.compaction is not None and context.compaction.summary.strip():
        preface = (summary_message(context.compaction),)
    elif units and isinstance(units[0].message, AssistantMessage):
        preface = (gateway_message(OPENING, units[0].message.at),)
    return Prompt(preface=preface, units=units)


def turn_starts(units: Sequence[TranscriptUnit]) -> tuple[int, ...]:
    """Where each turn begins: at a user message that does not follow another."""
    spoken = [isinstance(unit.message, UserMessage) for unit in units]
    return tuple(index for index, user in enumerate(spoken) if user and not (index and spoken[index - 1]))


def last_turns(units: Sequence[TranscriptUnit], count: int) -> int:
    """Where the last `count` turns begin, or at least what was said last if nothing answers it yet; what stands before the
    first user message is part of none."""
    starts = turn_starts(units)
    if count <= 0:
        unanswered = bool(units) and isinstance(units[-1].message, UserMessage)
        return starts[-1] if unanswered else len(units)
    return starts[-min(count, len(starts))] if starts else 0


def unread(units: Sequence[TranscriptUnit]) -> int:
    """Where that begins which no model was shown yet: what was said since the last answer, and what its calls gave."""
    for index in range(len(units) - 1, -1, -1):
        if isinstance(units[index].message, AssistantMessage):
            return index if units[index].results else index + 1
    return 0
