"""A streamed answer of the model library, event by event, in ours."""

from collections.abc import Iterable, Iterator
from json import dumps

from pydantic_ai import messages as library
from pydantic_ai.usage import RequestUsage

from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from roost.core.models import ModelEvent, ModelSpec, TextDelta, ThinkingDelta, ToolCallBegun
from roost.core.pricing import priced
from roost.models.arguments import PieceMender, mended, read_arguments
from roost.models.failures import FILTERED


class Pieces:
    """What each event of a stream adds; a piece of text may end within a character."""

    __slots__ = ("_text", "_thinking")

    def __init__(self) -> None:
        self._text = PieceMender()
        self._thinking = PieceMender()

    def take(self, event: library.ModelResponseStreamEvent) -> Iterator[ModelEvent]:
        match event:
            case library.PartStartEvent(part=library.TextPart(content=text)):
                yield from self._say(text)
            case library.PartDeltaEvent(delta=library.TextPartDelta(content_delta=text)):
                yield from self._say(text)
            case library.PartStartEvent(part=library.ThinkingPart(content=text)):
                yield from self._think(text)
            case library.PartDeltaEvent(delta=library.ThinkingPartDelta(content_delta=str(text))):
                yield from self._think(text)
            case library.PartStartEvent(part=library.ToolCallPart() as part):
                yield ToolCallBegun(id=part.tool_call_id, name=part.tool_name)
            case _:
                pass

    def end(self) -> Iterator[ModelEvent]:
        if held := self._thinking.end():
            yield ThinkingDelta(held)
        if held := self._text.end():
            yield TextDelta(held)

    def _say(self, text: str) -> Iterator[ModelEvent]:
        if piece := self._text.feed(text):
            yield TextDelta(piece)

    def _think(self, text: str) -> Iterator[ModelEvent]:
        if piece := self._thinking.feed(text):
            yield ThinkingDelta(piece)


def whole(response: library.ModelResponse, spec: ModelSpec, api: str, at: int) -> AssistantMessage:
    """The answer when its stream is over."""
    content = tuple(_blocks(response.parts))
    stop = _stop(response.finish_reason, content)
    return AssistantMessage(
        content=content,
        at=at,
        provider=spec.ref.provider,
        model=spec.ref.model,
        api=api,
        usage=priced(usage_of(response.usage), spec.prices),
        stop=stop,
        error=FILTERED if stop is StopReason.ERROR else None,
    )


def usage_of(usage: RequestUsage) -> Usage:
    """The library counts what was read from and written to a cache as input too."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return Usage(
        input=max(usage.input_tokens - cached, 0),
        output=usage.output_tokens,
        cache_read=usage.cache_read_tokens,
        cache_write=usage.cache_write_tokens,
        total=usage.input_tokens + usage.output_tokens,
    )


def _blocks(parts: Iterable[library.ModelResponsePart]) -> Iterator[AssistantBlock]:
    for part in parts:
        match part:
            case library.TextPart(content=text) if text:
                yield Text(mended(text))
            case library.ThinkingPart(content=text, signature=signature) if text or signature:
                yield Thinking(thinking=mended(text), signature=signature)
            case library.ToolCallPart(args=arguments):
                written = arguments if isinstance(arguments, str) else dumps(arguments or {})
                yield ToolCall(id=part.tool_call_id, name=part.tool_name, arguments=read_arguments(written))
            case _:
                pass


def _stop(finish: str | None, content: tuple[AssistantBlock, ...]) -> StopReason:
    match finish:
        case "length":
            return StopReason.LENGTH
        case "content_filter" | "error":
            return StopReason.ERROR
        case _:
            calling = any(isinstance(block, ToolCall) for block in content)
            return StopReason.TOOL_USE if calling else StopReason.STOP
