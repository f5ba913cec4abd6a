"""Entry bodies to JSON text and back, written out: they are most of what a store reads and writes.

The text is the store's own, a row of values by place; what other programs read is made by `core.jsonl`. A value that
is added goes to the end, with a default for rows that lack it.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

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

Block: TypeAlias = Text | Thinking | ToolCall | Image
SHORT, KEPT = 2_048, 8_192
"""How long a body may be that is kept at hand, and how many are: some megabytes."""
_SPOKEN, _CALL = ('["user",', '["assistant",'), '["call",'
_STOPS = {str(reason): reason for reason in StopReason}


def dump_body(body: Body) -> str:
    return to_text(_DUMP[type(body)](body))


def load_body(text: str) -> Body:
    """The body a text was made from. Each turn reads its whole conversation: what was read lately is at hand."""
    return _read_lately(text) if _may_be_shared(text) else _read(text)


def _may_be_shared(text: str) -> bool:
    """Whether it is short, and no reader could change what others read: arguments and details are dictionaries."""
    return len(text) <= SHORT and text.startswith(_SPOKEN) and _CALL not in text


def _read(text: str) -> Body:
    try:
        row = orjson.loads(text)
        return _LOAD[row[0]](*row)
    except UNREADABLE as error:
        raise unreadable(error) from error


_read_lately = lru_cache(KEPT)(_read)


def _dump_content(content: tuple[Block, ...]) -> Any:
    """A lone text, which nearly every message is, as that text; else a list of blocks."""
    if len(content) == 1 and type(content[0]) is Text:
        return content[0].text
    return [_dump_block(block) for block in content]


def _load_content(data: Any) -> tuple[Any, ...]:
    return (Text(data),) if type(data) is str else tuple([_load_block(block) for block in data])


def _dump_block(block: Block) -> tuple[Any, ...]:
    match block:
        case Text():
            return ("text", block.text)
        case ToolCall():
            return ("call", block.id, block.name, block.arguments)
        case Thinking():
            return ("thinking", block.thinking, block.signature)
        case Image():
            return ("image", block.mime, block.data)


def _load_block(row: list[Any]) -> Block:
    match row:
        case ["text", text]:
            return Text(text)
        case ["call", call_id, name, arguments]:
            return ToolCall(id=call_id, name=name, arguments=arguments)
        case ["thinking", thinking, signature]:
            return Thinking(thinking=thinking, signature=signature)
        case ["image", mime, data]:
            return Image(mime=mime, data=data)
    raise ValueError(f"a message has no part like {row!r}")


def _dump_user(body: UserMessage) -> tuple[Any, ...]:
    origin = body.provenance
    return (
        "user",
        body.at,
        _dump_content(body.content),
        body.sender,
        origin.kind,
        str(origin.principal),
        origin.source_session,
        origin.source_channel,
        origin.source_tool,
        *map(str, origin.voices),
    )


def _load_user(_: str, at: int, content: Any, sender: str | None, *origin: Any) -> UserMessage:
    return UserMessage(content=_load_content(content), at=at, provenance=_provenance(*origin), sender=sender)


@lru_cache(4096)
def _provenance(
    kind: str, principal: str, session: str | None, channel: str | None, tool: str | None, *voices: str
) -> Provenance:
    return Provenance(
        kind=ProvenanceKind(kind),
        principal=parse_principal(principal),
        source_session=session,
        source_channel=channel,
        source_tool=tool,
        voices=tuple(map(parse_principal, voices)),
    )


def _dump_assistant(body: AssistantMessage) -> tuple[Any, ...]:
    usage = body.usage
    return (
        "assistant",
        body.at,
        _dump_content(body.content),
        (body.provider, body.model, body.api),
        (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total, usage.cost_micros),
        body.stop,
        body.error,
    )


def _load_assistant(
    _: str, at: int, content: Any, source: list[Any], counts: list[int], stop: str, error: str | None
) -> AssistantMessage:
    provider, model, api = source
    return AssistantMessage(
        content=_load_content(content),
        at=at,
        provider=provider,
        model=model,
        api=api,
        usage=Usage._make(counts),
        stop=_STOPS[stop],
        error=error,
    )


def _dump_result(body: ToolResult) -> tuple[Any, ...]:
    return (
        "tool",
        body.at,
        _dump_content(body.content),
        body.call_id,
        body.tool,
        body.is_error,
        body.details,
    )


def _load_result(
    _: str, at: int, content: Any, call_id: str, tool: str, is_error: bool, details: Any
) -> ToolResult:
    return ToolResult(
        call_id=call_id,
        tool=tool,
        content=_load_content(content),
        at=at,
        is_error=is_error,
        details=details,
    )


def _dump_compaction(body: Compaction) -> tuple[Any, ...]:
    return ("compaction", body.at, body.summary, body.first_kept_id, body.tokens_before, body.tokens_after)


def _load_compaction(
    _: str, at: int, summary: str, first_kept_id: str | None, before: int, after: int | None
) -> Compaction:
    return Compaction(
        summary=summary, first_kept_id=first_kept_id, tokens_before=before, at=at, tokens_after=after
    )


def _dump_notice(body: Notice) -> tuple[Any, ...]:
    return ("notice", body.at, body.kind, body.data)


def _load_notice(_: str, at: int, kind: str, data: Any) -> Notice:
    return Notice(kind=kind, at=at, data=data)


_DUMP: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    UserMessage: _dump_user,
    AssistantMessage: _dump_assistant,
    ToolResult: _dump_result,
    Compaction: _dump_compaction,
    Notice: _dump_notice,
}
_LOAD: dict[str, Callable[..., Body]] = {
    "user": _load_user,
    "assistant": _load_assistant,
    "tool": _load_result,
    "compaction": _load_compaction,
    "notice": _load_notice,
}
