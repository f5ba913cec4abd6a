"""The answer of a chat completion, chunk by chunk: what each adds, and the whole at the end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from json import loads
from typing import TypeAlias
from uuid import uuid4

import orjson

from roost.core.jsonvalue import JsonObject, JsonValue, as_count, as_object, compact
from roost.core.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall, Usage
from roost.core.models import Finished, ModelEvent, ModelSpec, TextDelta, ThinkingDelta, ToolCallBegun
from roost.core.pricing import priced
from roost.models.arguments import PieceMender, mended, read_arguments
from roost.models.failures import FILTERED

API = "openai-completions"
DONE = b"[DONE]"
UNNAMED = "unnamed"

Events: TypeAlias = Sequence[ModelEvent]


class MalformedChunk(ValueError):
    """A chunk that is not a JSON object."""


class ErrorChunk(ValueError):
    """A chunk that tells of an error instead of going on."""

    def __init__(self, error: JsonValue) -> None:
        super().__init__("the provider reports an error")
        self.error = error


@dataclass(slots=True)
class _Call:
    """A tool call under way."""

    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    begun: bool = False

    def begin(self) -> ToolCallBegun:
        self.begun = True
        return ToolCallBegun(id=self.id, name=self.name or UNNAMED)

    def whole(self) -> ToolCall:
        arguments = read_arguments("".join(self.arguments))
        return ToolCall(id=self.id, name=self.name or UNNAMED, arguments=arguments)


class _Calls:
    """Tool calls by the index their parts carry. Some servers omit it, reuse it, or give no ids."""

    __slots__ = ("_at", "all")

    def __init__(self) -> None:
        self.all: list[_Call] = []
        self._at: dict[int, _Call] = {}

    def take(self, part: JsonObject) -> ToolCallBegun | None:
        function = as_object(part.get("function"))
        call_id, name = _text(part.get("id")), _text(function.get("name"))
        call = self._slot(part.get("index"), call_id, name)
        call.name = call.name or name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif isinstance(arguments, dict):
            call.arguments.append(compact(arguments))
        return call.begin() if call.name and not call.begun else None

    def _slot(self, index: JsonValue, call_id: str, name: str) -> _Call:
        place = index if isinstance(index, int) else self._place(call_id or name)
        call = self._at.get(place)
        if call is None or (call_id and call_id != call.id and name):
            taken = {other.id for other in self.all}
            fresh = call_id if call_id and call_id not in taken else f"call_{uuid4().hex[:24]}"
            call = self._at[place] = _Call(id=fresh)
            self.all.append(call)
        return call

    def _place(self, opens: str) -> int:
        return len(self.all) if opens or not self.all else len(self.all) - 1


class Answer:
    """Feed it the data of each event; it gives what to pass on. `ended` says that nothing more is expected."""

    __slots__ = ("_calls", "_finish", "_spec", "_text", "_text_mender", "_thinking", "_thinking_mender", "_usage", "ended")  # fmt: skip

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._thinking: list[str] = []
        self._text: list[str] = []
        self._thinking_mender = PieceMender()
        self._text_mender = PieceMender()
        self._calls = _Calls()
        self._usage = Usage()
        self._finish: str | None = None
        self.ended = False

    @property
    def whole(self) -> bool:
        """Whether the answer may end here."""
        return self.ended or self._finish is not None

    def take(self, data: bytes) -> Events:
        if data == DONE:
            self.ended = True
            return ()
        chunk = _parsed(data)
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._usage = _usage(usage)
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices:
            if chunk.get("error"):
                raise ErrorChunk(chunk["error"])
            return ()
        choice = as_object(choices[0])
        finish = choice.get("finish_reason")
        if isinstance(finish, str):
            self._finish = finish
            if finish == "error":
                raise ErrorChunk(choice.get("error") or chunk.get("error"))
        # An endpoint that does not stream sends the whole message at once.
        delta = choice.get("delta") or choice.get("message")
        return self._delta(delta) if isinstance(delta, dict) else ()

    def _delta(self, delta: JsonObject) -> Events:
        events: list[ModelEvent] = []
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        if thinking and isinstance(thinking, str):
            self._think(self._thinking_mender.feed(thinking), events)
        text = delta.get("content") or delta.get("refusal")
        if text and isinstance(text, str):
            self._say(self._text_mender.feed(text), events)
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            for part in calls:
                begun = self._calls.take(as_object(part))
                if begun is not None:
                    events.append(begun)
        return events

    def _think(self, piece: str, events: list[ModelEvent]) -> None:
        if piece:
            self._thinking.append(piece)
            events.append(ThinkingDelta(piece))

    def _say(self, piece: str, events: list[ModelEvent]) -> None:
        if piece:
            self._text.append(piece)
            events.append(TextDelta(piece))

    def finish(self, at: int) -> Events:
        """The last events: what was held back, and the message."""
        events: list[ModelEvent] = []
        self._think(self._thinking_mender.end(), events)
        self._say(self._text_mender.end(), events)
        events += [call.begin() for call in self._calls.all if not call.begun]
        events.append(Finished(self._message(at)))
        return events

    def _message(self, at: int) -> AssistantMessage:
        thinking, text = "".join(self._thinking), "".join(self._text)
        calls = [call.whole() for call in self._calls.all]
        stop = _stop(self._finish, calling=bool(calls))
        return AssistantMessage(
            content=(
                *([Thinking(thinking=thinking)] if thinking else []),
                *([Text(text)] if text else []),
                *calls,
            ),
            at=at,
            provider=self._spec.ref.provider,
            model=self._spec.ref.model,
            api=API,
            usage=priced(self._usage, self._spec.prices),
            stop=stop,
            error=FILTERED if stop is StopReason.ERROR else None,
        )


def _parsed(data: bytes) -> JsonObject:
    try:
        chunk = orjson.loads(data)
    except orjson.JSONDecodeError:
        chunk = _parsed_leniently(data)
    if not isinstance(chunk, dict):
        raise MalformedChunk
    return chunk


def _parsed_leniently(data: bytes) -> JsonValue:
    """For halves of characters, which the strict reader refuses."""
    try:
        chunk: JsonValue = loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise MalformedChunk from error
    return chunk


def _text(value: JsonValue) -> str:
    return mended(value) if isinstance(value, str) else ""


def _stop(finish: str | None, *, calling: bool) -> StopReason:
    match finish:
        case "length":
            return StopReason.LENGTH
        case "content_filter":
            return StopReason.ERROR
        case _:
            return StopReason.TOOL_USE if calling else StopReason.STOP


def _usage(usage: JsonObject) -> Usage:
    """Input is what was not read from the provider's cache."""
    read = as_count(usage.get("prompt_tokens"))
    written = as_count(usage.get("completion_tokens"))
    details = as_object(usage.get("prompt_tokens_details"))
    cached = as_count(details.get("cached_tokens")) or as_count(usage.get("prompt_cache_hit_tokens"))
    cached = min(cached, read)
    return Usage(
        input=read - cached,
        output=written,
        cache_read=cached,
        total=as_count(usage.get("total_tokens")) or read + written,
    )
