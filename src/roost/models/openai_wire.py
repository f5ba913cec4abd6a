"""A request in the wire shape of chat completions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from urllib.parse import urlsplit

import orjson

from roost.core.jsonvalue import JsonObject, JsonValue, compact
from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Image,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserBlock,
)
from roost.core.models import ModelRequest, ToolSpec
from roost.models.turns import NO_IMAGES, Turn, result_images, result_text, turns_of

_EFFORTS = {
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


class LimitField(StrEnum):
    """How an endpoint calls the longest answer."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """In what endpoints differ that otherwise speak the same."""

    limit_field: LimitField = LimitField.MAX_TOKENS
    reasoning_effort: bool = True
    stream_usage: bool = True


def dialect_of(base_url: str, compat: JsonObject | None = None) -> Dialect:
    """What is configured of an endpoint, and what is known of it by its address."""
    said = compat or {}
    official = urlsplit(base_url).hostname == "api.openai.com"
    usual = LimitField.MAX_COMPLETION_TOKENS if official else LimitField.MAX_TOKENS
    named = said.get("maxTokensField")
    return Dialect(
        limit_field=next((field for field in LimitField if field == named), usual),
        reasoning_effort=said.get("supportsReasoningEffort") is not False,
        stream_usage=said.get("supportsUsageInStreaming") is not False,
    )


def request_body(request: ModelRequest, dialect: Dialect, extra: JsonObject) -> bytes:
    """The body; `extra` are further parameters of the endpoint, which do not replace these."""
    body: dict[str, JsonValue] = {
        **extra,
        "model": request.spec.ref.model,
        "messages": _with_system(request),
        "stream": True,
        str(dialect.limit_field): request.max_tokens or request.spec.max_tokens,
    }
    if dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    effort = _EFFORTS.get(request.thinking or "")
    if effort and request.spec.reasoning and dialect.reasoning_effort:
        body["reasoning_effort"] = effort
    return _encoded(body)


def _encoded(body: JsonObject) -> bytes:
    try:
        return orjson.dumps(body, default=dict)
    except TypeError:
        # Half a character or an integer beyond 64 bits, in the schema of a tool or in what a caller made.
        return compact(body).encode("utf-8", "replace")


def _with_system(request: ModelRequest) -> list[JsonObject]:
    messages = wire_messages(request.messages, images=request.spec.images)
    if not request.system:
        return messages
    return [{"role": "system", "content": request.system}, *messages]


def _tool(tool: ToolSpec) -> JsonObject:
    function: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def wire_messages(messages: Iterable[Message], *, images: bool) -> list[JsonObject]:
    """The messages; without `images` a note stands for each."""
    written: list[JsonObject] = []
    for role, group in groupby(messages, _role):
        together = list(group)
        text = _only_text(together)
        if text is not None:
            written.append({"role": role, "content": text or None})
        else:
            for turn in turns_of(together):
                written += _turn(turn, images=images)
    return written


def _role(message: Message) -> str:
    return "assistant" if isinstance(message, AssistantMessage) else "user"


def _only_text(messages: Sequence[Message]) -> str | None:
    """What nearly every turn is."""
    message, content = messages[0], messages[0].content
    alone = len(messages) == 1 and len(content) == 1 and not isinstance(message, ToolResult)
    return content[0].text if alone and isinstance(content[0], Text) else None


def _turn(turn: Turn, *, images: bool) -> list[JsonObject]:
    written: list[JsonObject] = [
        {"role": "tool", "tool_call_id": result.call_id, "content": result_text(result)}
        for result in turn.results
    ]
    # A tool message holds text only.
    heard = [block for result in turn.results for block in result_images(result)] + turn.heard
    if heard:
        written.append({"role": "user", "content": _heard(heard, images=images)})
    if turn.said:
        written.append(_assistant_fields(turn.said))
    return written


def _heard(blocks: Sequence[UserBlock], *, images: bool) -> JsonValue:
    """Text alone is sent as such: not every endpoint takes a list of parts."""
    seen = [block if images or isinstance(block, Text) else NO_IMAGES for block in blocks]
    if any(isinstance(block, Image) for block in seen):
        return [_part(block) for block in seen]
    return "\n\n".join(block.text for block in seen if isinstance(block, Text))


def _part(block: UserBlock) -> JsonObject:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime};base64,{block.data}"}}


def _assistant_fields(blocks: Sequence[AssistantBlock]) -> JsonObject:
    text = "\n\n".join(block.text for block in blocks if isinstance(block, Text))
    calls: list[JsonObject] = [
        {
            "id": block.id,
            "type": "function",
            "function": {"name": block.name, "arguments": compact(block.arguments)},
        }
        for block in blocks
        if isinstance(block, ToolCall)
    ]
    message: dict[str, JsonValue] = {"role": "assistant", "content": text or None}
    return {**message, "tool_calls": calls} if calls else message
