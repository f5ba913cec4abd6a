"""What of a transcript may be read back: bounded, without machinery, without secrets, and honest about it.

Which rows are read, and who may read them, is decided before. The original is what the export gives.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, assert_never

from roost.core import toolnames
from roost.core.entries import Entry
from roost.core.jsonl import Malformed, read_object
from roost.core.jsonl_messages import said_to_json
from roost.core.jsonvalue import JsonObject, JsonValue, compact, in_utf8
from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Body,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserBlock,
    UserMessage,
)
from roost.core.prose import clean
from roost.core.redaction import Prescanned, SecretScanner, redact
from roost.core.secretfields import concealed, is_secret_field

TEXT_CHARS = 4_000
PAGE_BYTES = 81_920
PAGE_MESSAGES = 200
MOST_MESSAGES = 1_000
ARGUMENT_DEPTH = 64

TRUNCATED = "…(truncated)…"
OMITTED = "[sessions_history omitted: message too large]"

YIELD_TOOL = toolnames.SESSIONS_YIELD
YIELD_NOTE = "message"
NOTE_OMITTED = "[private note omitted]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallOptions:
    """How to read back. `newest` counts messages that are left after everything else was filtered out; `write` is
    `in_utf8` or what writes the same, faster."""

    scanner: SecretScanner
    include_tools: bool = False
    newest: int | None = None
    text_chars: int = TEXT_CHARS
    page_bytes: int = PAGE_BYTES
    write: Callable[[JsonObject], bytes] = in_utf8


class Recalled(NamedTuple):
    """A message as it may be read, under the id and the place of its entry."""

    id: str
    session_id: str
    seq: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPage:
    """Messages oldest first, and what was done to them. Removing metadata never counts as truncation."""

    messages: tuple[Recalled, ...]
    dropped_messages: bool
    content_truncated: bool
    content_redacted: bool
    metadata_omitted: bool
    written: tuple[bytes, ...]
    """Each message as its JSON in UTF-8."""
    size: int
    """Bytes of the messages as a JSON array."""

    @property
    def truncated(self) -> bool:
        return self.dropped_messages or self.content_truncated


class Recalling:
    """A page in the making, which older and older entries join until it is full."""

    def __init__(self, options: RecallOptions) -> None:
        self._options = options
        self._kept: list[Recalled] = []
        self._written: list[bytes] = []
        self._dropped = self._truncated = self._redacted = self._omitted = False
        self._size = len("[]")

    @property
    def full(self) -> bool:
        return self._dropped or len(self._kept) == self._options.newest

    def missing(self, read: int) -> int:
        """How many entries more would fill it, if older ones are like those that were read."""
        by_size = read * (self._options.page_bytes - self._size) // self._size
        if self._options.newest is None:
            return by_size
        left = self._options.newest - len(self._kept)
        return min(by_size, read * left // max(len(self._kept), 1))

    def add(self, entries: Sequence[Entry]) -> None:
        """The newest of these entries that fit; they are older than all before, and come oldest first."""
        texts = [text for entry in entries for text in _texts(entry.body)]
        options = replace(self._options, scanner=Prescanned(texts, self._options.scanner))
        readings = _readings(entries, options)
        while not self.full and (found := next(readings, None)):
            self._take(*found)

    def page(self) -> RecallPage:
        return RecallPage(
            messages=tuple(reversed(self._kept)),
            written=tuple(reversed(self._written)),
            dropped_messages=self._dropped,
            content_truncated=self._truncated,
            content_redacted=self._redacted,
            metadata_omitted=self._omitted,
            size=self._size,
        )

    def _take(self, recalled: Recalled, reading: "_Reading") -> None:
        text = self._options.write(recalled_to_json(recalled))
        added = len(text) + (1 if self._kept else 0)
        if self._size + added <= self._options.page_bytes:
            self._keep(recalled, text, added)
            self._truncated |= reading.truncated
            self._redacted |= reading.redacted
            self._omitted |= reading.omitted
            return
        self._dropped = True
        if not self._kept:
            instead = _placeholder(recalled)
            text = self._options.write(recalled_to_json(instead))
            self._keep(instead, text, len(text))

    def _keep(self, recalled: Recalled, text: bytes, added: int) -> None:
        self._kept.append(recalled)
        self._written.append(text)
        self._size += added


def recall(entries: Sequence[Entry], options: RecallOptions) -> RecallPage:
    """The newest of these entries that fit; they come and go oldest first."""
    recalling = Recalling(options)
    recalling.add(entries)
    return recalling.page()


def recalled_to_json(recalled: Recalled) -> JsonObject:
    """The wire form of a recalled message: its transcript form under its id, without what was removed."""
    return {"id": recalled.id, **said_to_json(recalled.message)}


def is_readable(entry: Entry, options: RecallOptions) -> bool:
    """Whether an entry is a message that would be read back at all."""
    return next(_readings((entry,), options), None) is not None


def _readings(entries: Sequence[Entry], options: RecallOptions) -> "Iterator[tuple[Recalled, _Reading]]":
    """Messages newest first, each made readable only when it is asked for."""
    for entry in reversed(entries):
        body = entry.body
        if not isinstance(body, Message) or (isinstance(body, ToolResult) and not options.include_tools):
            continue
        reading = _Reading(options)
        message = reading.message(body)
        if message is not None:
            yield (
                Recalled(entry.id, entry.session_id, entry.seq, message),
                reading,
            )


def _texts(body: Body) -> list[str]:
    texts = (
        [block.text for block in body.content if isinstance(block, Text)] if isinstance(body, Message) else []
    )
    return [*texts, body.sender] if isinstance(body, UserMessage) and body.sender is not None else texts


def _placeholder(recalled: Recalled) -> Recalled:
    return recalled._replace(message=AssistantMessage(content=(Text(OMITTED),), at=recalled.message.at))


_INLINE_DATA = re.compile(
    r"data:([\w.+/-]{1,100})(?:;[\w.=-]{1,40}){0,3};base64,[A-Za-z0-9+/=_-]{64,}", re.ASCII
)


def _noteless(told: str) -> str:
    fields = read_object(told)
    if isinstance(fields, Malformed):
        return NOTE_OMITTED
    return compact({name: value for name, value in fields.items() if name != YIELD_NOTE})


class _Reading:
    """One message on its way to a reader, and what was done to it."""

    def __init__(self, options: RecallOptions) -> None:
        self._options = options
        self.truncated = False
        self.redacted = False
        self.omitted = False

    def message(self, message: Message) -> Message | None:
        """The readable form, or nothing where nothing was said."""
        match message:
            case UserMessage():
                content, sender = self._blocks(message.content), message.sender
                if sender is not None:
                    sender = self._redacted(sender)
                # Itself where nothing was done to it, as to most: making another costs more than all that was looked for.
                same = content == message.content and sender == message.sender
                return message if same else replace(message, content=content, sender=sender)
            case ToolResult():
                if message.details is not None:
                    self.omitted = True
                content = self._blocks(self._without_note(message))
                return replace(message, content=content, details=None)
            case AssistantMessage():
                return self._assistant(message)
            case _:
                assert_never(message)

    def _assistant(self, message: AssistantMessage) -> AssistantMessage | None:
        if any(message.usage):
            self.omitted = True
        content = tuple([kept for block in message.content if (kept := self._block(block)) is not None])
        error = None if message.error is None else self._text(message.error)
        if message.content and not content and error is None:
            return None
        return AssistantMessage(
            content=content,
            at=message.at,
            provider=message.provider,
            model=message.model,
            api=message.api,
            stop=message.stop,
            error=error,
        )

    def _blocks(self, content: tuple[UserBlock, ...]) -> tuple[UserBlock, ...]:
        return tuple(
            [
                self._image(block) if isinstance(block, Image) else self._words(block, block.text)
                for block in content
            ]
        )

    def _block(self, block: AssistantBlock) -> AssistantBlock | None:
        match block:
            case Text(text=text):
                prose = clean(text)
                return self._words(block, prose) if prose else None
            case Thinking():
                # What a model thought was said to nobody: no other session is told.
                self.omitted = True
                return None
            case ToolCall():
                return self._call(block)
            case _:
                assert_never(block)

    def _words(self, block: Text, prose: str) -> Text:
        text = self._text(prose)
        return block if text == block.text else Text(text)

    def _call(self, call: ToolCall) -> ToolCall:
        arguments = call.arguments
        if call.name == YIELD_TOOL and YIELD_NOTE in arguments:
            arguments = {name: value for name, value in arguments.items() if name != YIELD_NOTE}
            self.omitted = True
        return replace(call, arguments=self._fields(arguments, ARGUMENT_DEPTH))

    def _without_note(self, result: ToolResult) -> tuple[UserBlock, ...]:
        """What a tool gave; the one that yields repeats what its session noted for itself."""
        if result.tool != YIELD_TOOL or result.is_error:
            return result.content
        left = tuple([Text(_noteless(block.text)) for block in result.content if isinstance(block, Text)])
        self.omitted |= left != result.content
        return left

    def _fields(self, fields: JsonObject, depth: int) -> JsonObject:
        return {
            self._redacted(name): self._json(
                self._concealed(value) if is_secret_field(name) else value, depth - 1
            )
            for name, value in fields.items()
        }

    def _json(self, value: JsonValue, depth: int) -> JsonValue:
        if isinstance(value, str):
            return self._text(value)
        if not isinstance(value, Mapping | Sequence):
            return value
        if depth <= 0:
            self.truncated = True
            return TRUNCATED
        if isinstance(value, Mapping):
            return self._fields(value, depth)
        return [self._json(item, depth - 1) for item in value]

    def _image(self, image: Image) -> Text:
        self.truncated = True
        return Text(f"[image omitted: {image.mime[:64]}, {len(image.data) * 3 // 4} bytes]")

    def _text(self, text: str) -> str:
        """Inline data out, secrets masked, length capped, in this order: a cut must not hide half a secret."""
        if ";base64," in text:
            text, found = _INLINE_DATA.subn(r"[\1 data omitted]", text)
            if found:
                self.truncated = True
        text = self._redacted(text)
        if len(text) <= self._options.text_chars:
            return text
        self.truncated = True
        return f"{text[: self._options.text_chars]}\n{TRUNCATED}"

    def _redacted(self, text: str) -> str:
        redacted, changed = redact(text, self._options.scanner)
        if changed:
            self.redacted = True
        return redacted

    def _concealed(self, value: JsonValue) -> JsonValue:
        shown = concealed(value)
        if shown != value:
            self.redacted = True
        return shown
