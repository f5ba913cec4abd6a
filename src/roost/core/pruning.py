"""Which old tool results and images a model is not shown again in full.

A projection says what is cut from which entry. It is decided rarely, kept, and applied before every prompt:
the same bytes each time, so a provider's cache holds. The transcript itself is never changed; a compaction or
a reset starts from an empty projection.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import assert_never

from roost.core.entries import Entry
from roost.core.jsonvalue import compact
from roost.core.messages import (
    AssistantMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserBlock,
    UserMessage,
    lone_text,
    text_of,
    tool_calls,
)
from roost.core.transcript import active

CHARS_PER_TOKEN = 4
IMAGE_CHARS = 8_000
TEXTLESS_CHARS = 256
PROTECTED_ASSISTANTS = 3
IMAGE_TURNS = 3
IMAGE_NOTE = "[an image of an earlier turn, removed]"


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningSettings:
    """Shares are of the window in characters; sizes are characters, `ttl_ms` the life of a provider's cache."""

    enabled: bool = True
    ttl_ms: int = 300_000
    soft_share: float = 0.30
    hard_share: float = 0.50
    trim_above: int = 4_000
    head: int = 1_500
    tail: int = 1_500
    clear: bool = True
    clear_above: int = 50_000
    placeholder: str = "[Old tool result content cleared]"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def may_touch(self, tool: str) -> bool:
        """Whether results of this tool may be cut; no `allow` means every tool."""
        if any(fnmatchcase(tool, glob) for glob in self.deny):
            return False
        return not self.allow or any(fnmatchcase(tool, glob) for glob in self.allow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What one entry is reduced to: the first `head` and last `tail` characters of its text around a note.

    `text` keeps the text whole and takes out its images alone.
    """

    entry_id: str
    note: str
    head: int = 0
    tail: int = 0
    text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Every cut in force, in the order of the entries."""

    cuts: tuple[Cut, ...] = ()


def chars_of(message: Message) -> int:
    """The size of a message in characters, as pruning counts them."""
    if (alone := lone_text(message)) is not None:
        return len(alone) or TEXTLESS_CHARS
    size = 0
    for block in message.content:
        match block:
            case Text(text=text) | Thinking(thinking=text):
                size += len(text)
            case Image():
                size += IMAGE_CHARS
            case ToolCall(name=name, arguments=arguments):
                size += len(name) + len(compact(arguments))
            case _:
                assert_never(block)
    return size or TEXTLESS_CHARS


def _reduced(message: Message, cut: Cut) -> Message:
    if isinstance(message, AssistantMessage):
        return message
    return replace(message, content=_reduced_content(message.content, text_of(message), cut))


def _reduced_content(content: tuple[UserBlock, ...], text: str, cut: Cut) -> tuple[UserBlock, ...]:
    if cut.text:
        return tuple(Text(cut.note) if isinstance(block, Image) else block for block in content)
    if not cut.head and not cut.tail:
        return (Text(cut.note),)
    return (Text(f"{text[: cut.head]}\n...\n{text[-cut.tail :] if cut.tail else ''}\n{cut.note}"),)


def project(entries: Sequence[Entry], projection: Projection) -> tuple[Entry, ...]:
    """The entries as the projection shows them; those it does not name are the same objects."""
    cuts = {cut.entry_id: cut for cut in projection.cuts}
    if not cuts:
        return tuple(entries)
    return tuple(
        entry._replace(body=_reduced(entry.body, cut))
        if (cut := cuts.get(entry.id)) and isinstance(entry.body, UserMessage | ToolResult)
        else entry
        for entry in entries
    )


@dataclass(slots=True)
class _Work:
    """The messages of the context as they are shown so far, and the cuts that make them so."""

    summary: int
    entries: list[tuple[str, Message]]
    shown: list[Message]
    cuts: dict[str, Cut]

    def is_short(self, index: int) -> bool:
        """Whether the text of this entry is cut already; a cut stays as it was made."""
        cut = self.cuts.get(self.entries[index][0])
        return cut is not None and not cut.text

    def apply(self, index: int, cut: Cut) -> None:
        self.cuts[cut.entry_id] = cut
        self.shown[index] = _reduced(self.entries[index][1], cut)

    def total(self) -> int:
        return self.summary + sum(chars_of(message) for message in self.shown)


def _begin(entries: Sequence[Entry], projection: Projection) -> _Work:
    boundary = active(entries)
    context = [
        (entry.id, entry.body) for entry in entries[boundary.start :] if isinstance(entry.body, Message)
    ]
    known = {cut.entry_id: cut for cut in projection.cuts}
    cuts = {entry_id: known[entry_id] for entry_id, _ in context if entry_id in known}
    shown = [
        _reduced(message, cuts[entry_id]) if entry_id in cuts else message for entry_id, message in context
    ]
    return _Work(len(boundary.compaction.summary) if boundary.compaction else 0, context, shown, cuts)


def _remove_images(work: _Work) -> None:
    ends = [
        index
        for index, message in enumerate(work.shown)
        if isinstance(message, AssistantMessage) and not tool_calls(message)
    ]
    if len(ends) <= IMAGE_TURNS:
        return
    for index in range(ends[-IMAGE_TURNS - 1]):
        if Image in map(type, work.shown[index].content):
            work.apply(index, Cut(entry_id=work.entries[index][0], note=IMAGE_NOTE, text=True))


def _prunable(work: _Work, settings: PruningSettings) -> list[int]:
    """The results old enough: after the first user message, before the third-last assistant message."""
    spoken = [index for index, message in enumerate(work.shown) if isinstance(message, UserMessage)]
    assistants = [index for index, message in enumerate(work.shown) if isinstance(message, AssistantMessage)]
    if not spoken or len(assistants) < PROTECTED_ASSISTANTS:
        return []
    return [
        index
        for index in range(spoken[0], assistants[-PROTECTED_ASSISTANTS])
        if isinstance(message := work.shown[index], ToolResult) and settings.may_touch(message.tool)
    ]


def _trim(work: _Work, prunable: list[int], settings: PruningSettings) -> None:
    for index in prunable:
        if work.is_short(index):
            continue
        entry_id, message = work.entries[index]
        length = len(text_of(message))
        if length > settings.trim_above:
            note = f"[Tool result trimmed: {settings.head} first and {settings.tail} last of {length} characters]"
            work.apply(index, Cut(entry_id=entry_id, note=note, head=settings.head, tail=settings.tail))
        elif any(isinstance(block, Image) for block in work.shown[index].content):
            work.apply(index, Cut(entry_id=entry_id, note=IMAGE_NOTE, text=True))


def _clear(work: _Work, prunable: list[int], settings: PruningSettings, limit: float) -> None:
    total = work.total()
    if total < limit or sum(chars_of(work.shown[index]) for index in prunable) < settings.clear_above:
        return
    for index in prunable:
        if total < limit:
            return
        before = chars_of(work.shown[index])
        work.apply(index, Cut(entry_id=work.entries[index][0], note=settings.placeholder))
        total -= before - chars_of(work.shown[index])


def prune(
    entries: Sequence[Entry],
    projection: Projection,
    *,
    window: int,
    idle_ms: int | None,
    settings: PruningSettings,
) -> Projection:
    """The projection for the next model call.

    `window` is the model's context in tokens, `idle_ms` the time since its last successful call (None:
    there was none). While a provider may still hold the last prompt in its cache, only images are cut.
    """
    work = _begin(entries, projection)
    _remove_images(work)
    room = window * CHARS_PER_TOKEN
    cold = idle_ms is None or idle_ms >= settings.ttl_ms
    if settings.enabled and cold and work.total() >= room * settings.soft_share:
        prunable = _prunable(work, settings)
        _trim(work, prunable, settings)
        if settings.clear:
            _clear(work, prunable, settings, room * settings.hard_share)
    order = {entry_id: place for place, (entry_id, _) in enumerate(work.entries)}
    return Projection(cuts=tuple(sorted(work.cuts.values(), key=lambda cut: order[cut.entry_id])))
