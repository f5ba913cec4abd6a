"""Entry bodies to JSON text and back, written out: they are most of what a store reads and writes.

The text is the store's own; what other programs read is made by `core.jsonl`.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import orjson

from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Image,
    Notice,
    Provenance,
    ProvenanceKind,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from roost.stores.codec import UNREADABLE, parse_principal, to_text, unreadable

Json = dict[str, Any]
_STOPS = {str(reason): reason for reason in StopReason}


def dump_body(body: Body) -> str:
    return to_text(_DUMP[type(body)](body))


def load_body(text: str) -> Body:
    try:
        data = orjson.loads(text)
        return _LOAD[data["t"]](data)
    except UNREADABLE as error:
        raise unreadable(error) from error


def _dump_content(content: tuple[Text | Thinking | ToolCall | Image, ...]) -> Any:
    """A lone text, which nearly every message is, as that text; else a list of blocks."""
    if len(content) == 1 and isinstance(content[0], Text):
        return content[0].text
    return [_dump_block(block) for block in content]


def _load_content(data: Any) -> tuple[Any, ...]:
    return (Text(data),) if isinstance(data, str) else tuple([_load_block(block) for block in data])


def _dump_block(block: Text | Thinking | ToolCall | Image) -> Json:
    match block:
        case Text():
            return {"text": block.text}
        case ToolCall():
            return {"id": block.id, "name": block.name, "arguments": block.arguments}
        case Thinking():
            return {"thinking": block.thinking, "signature": block.signature}
        case Image():
            return {"mime": block.mime, "data": block.data}


def _load_block(data: Json) -> Any:
    if "text" in data:
        return Text(data["text"])
    if "name" in data:
        return ToolCall(id=data["id"], name=data["name"], arguments=data["arguments"])
    if "thinking" in data:
        return Thinking(thinking=data["thinking"], signature=data["signature"])
    return Image(mime=data["mime"], data=data["data"])


def _dump_user(body: UserMessage) -> Json:
    origin = body.provenance
    return {
        "t": "user",
        "at": body.at,
        "content": _dump_content(body.content),
        "sender": body.sender,
        "kind": origin.kind,
        "principal": str(origin.principal),
        "source": (origin.source_session, origin.source_channel, origin.source_tool),
    }


def _load_user(data: Json) -> UserMessage:
    return UserMessage(
        content=_load_content(data["content"]),
        at=data["at"],
        provenance=_provenance(data["kind"], data["principal"], *data["source"]),
        sender=data["sender"],
    )


@lru_cache(4096)
def _provenance(
    kind: str, principal: str, session: str | None, channel: str | None, tool: str | None
) -> Provenance:
    return Provenance(
        kind=ProvenanceKind(kind),
        principal=parse_principal(principal),
        source_session=session,
        source_channel=channel,
        source_tool=tool,
    )


def _dump_assistant(body: AssistantMessage) -> Json:
    usage = body.usage
    return {
        "t": "assistant",
        "at": body.at,
        "content": _dump_content(body.content),
        "provider": body.provider,
        "model": body.model,
        "api": body.api,
        "usage": (
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.total,
            usage.cost_micros,
        ),
        "stop": body.stop,
        "error": body.error,
    }


def _load_assistant(data: Json) -> AssistantMessage:
    tokens_in, tokens_out, cache_read, cache_write, total, cost = data["usage"]
    return AssistantMessage(
        content=_load_content(data["content"]),
        at=data["at"],
        provider=data["provider"],
        model=data["model"],
        api=data["api"],
        usage=Usage(
            input=tokens_in,
            output=tokens_out,
            cache_read=cache_read,
            cache_write=cache_write,
            total=total,
            cost_micros=cost,
        ),
        stop=_STOPS[data["stop"]],
        error=data["error"],
    )


def _dump_result(body: ToolResult) -> Json:
    return {
        "t": "tool",
        "at": body.at,
        "content": _dump_content(body.content),
        "call": body.call_id,
        "tool": body.tool,
        "error": body.is_error,
        "details": body.details,
    }


def _load_result(data: Json) -> ToolResult:
    return ToolResult(
        call_id=data["call"],
        tool=data["tool"],
        content=_load_content(data["content"]),
        at=data["at"],
        is_error=data["error"],
        details=data["details"],
    )


def _dump_compaction(body: Compaction) -> Json:
    return {
        "t": "compaction",
        "at": body.at,
        "summary": body.summary,
        "first_kept_id": body.first_kept_id,
        "tokens_before": body.tokens_before,
        "tokens_after": body.tokens_after,
    }


def _load_compaction(data: Json) -> Compaction:
    return Compaction(
        summary=data["summary"],
        first_kept_id=data["first_kept_id"],
        tokens_before=data["tokens_before"],
        at=data["at"],
        tokens_after=data["tokens_after"],
    )


def _dump_notice(body: Notice) -> Json:
    return {"t": "notice", "at": body.at, "kind": body.kind, "data": body.data}


def _load_notice(data: Json) -> Notice:
    return Notice(kind=data["kind"], at=data["at"], data=data["data"])


_DUMP: dict[type, Callable[[Any], Json]] = {
    UserMessage: _dump_user,
    AssistantMessage: _dump_assistant,
    ToolResult: _dump_result,
    Compaction: _dump_compaction,
    Notice: _dump_notice,
}
_LOAD: dict[str, Callable[[Json], Body]] = {
    "user": _load_user,
    "assistant": _load_assistant,
    "tool": _load_result,
    "compaction": _load_compaction,
    "notice": _load_notice,
}
