"""Messages inside transcript lines: the JSON object of a message, to a value and back.

Reading is lenient: a part of the wrong shape is passed over. `core.jsonl` notices that, because the text it
would write differs from the text it read.
"""

from collections.abc import Sequence
from typing import assert_never

from roost.core.errors import InvalidInput
from roost.core.figures import MICROS
from roost.core.jsonvalue import JsonObject, JsonValue, as_count, as_object, as_optional, as_text
from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Image,
    Message,
    Provenance,
    ProvenanceKind,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserBlock,
    UserMessage,
)
from roost.core.principals import UNKNOWN, Principal

_MOST_DOLLARS = 1_000_000_000

# -- reading -----------------------------------------------------------------------------------------


def message_from_json(message: JsonObject, line_at: int, principal: Principal) -> Message | None:
    at = as_count(message.get("timestamp")) or line_at
    content = message.get("content")
    match message.get("role"):
        case "user" if isinstance(content, str | list):
            return UserMessage(
                content=_user_blocks(content),
                at=at,
                provenance=_provenance(as_object(message.get("provenance")), principal),
                sender=as_optional(message.get("sender")),
            )
        case "assistant" if isinstance(content, str | list):
            return AssistantMessage(
                content=_assistant_blocks(content),
                at=at,
                provider=as_text(message.get("provider")),
                model=as_text(message.get("model")),
                api=as_text(message.get("api")),
                usage=_usage(as_object(message.get("usage"))),
                stop=_stop(message.get("stopReason")),
                error=as_optional(message.get("errorMessage")),
            )
        case "toolResult" if isinstance(content, str | list):
            details = message.get("details")
            return ToolResult(
                call_id=as_text(message.get("toolCallId")),
                tool=as_text(message.get("toolName")),
                content=_user_blocks(content),
                at=at,
                is_error=message.get("isError") is True,
                details=details if isinstance(details, dict) else None,
            )
        case _:
            return None


def _user_blocks(content: str | Sequence[JsonValue]) -> tuple[UserBlock, ...]:
    if isinstance(content, str):
        return (Text(content),)
    blocks: list[UserBlock] = []
    for block in map(as_object, content):
        if block.get("type") == "text":
            blocks.append(Text(as_text(block.get("text"))))
        elif block.get("type") == "image":
            blocks.append(Image(mime=as_text(block.get("mimeType")), data=as_text(block.get("data"))))
    return tuple(blocks)


def _assistant_blocks(content: str | Sequence[JsonValue]) -> tuple[AssistantBlock, ...]:
    if isinstance(content, str):
        return (Text(content),)
    blocks: list[AssistantBlock] = []
    for block in map(as_object, content):
        match block.get("type"):
            case "text":
                blocks.append(Text(as_text(block.get("text"))))
            case "thinking":
                signature = as_optional(block.get("thinkingSignature"))
                blocks.append(Thinking(thinking=as_text(block.get("thinking")), signature=signature))
            case "toolCall":
                call_id, name = as_text(block.get("id")), as_text(block.get("name"))
                blocks.append(ToolCall(id=call_id, name=name, arguments=as_object(block.get("arguments"))))
            case _:
                pass
    return tuple(blocks)


def _provenance(said: JsonObject, principal: Principal) -> Provenance:
    """Where a line says it comes from. It is history: what may be done now is never read from it. That somebody else
    than the owner spoke is believed; that the owner did is for the importer to say."""
    anothers = principal.is_owner and said.get("fromOwner") is False
    match (said.get("kind"), said.get("sourceRole")):
        case ("external_user" | None, _):
            kind = ProvenanceKind.HUMAN
        case ("inter_session", _):
            kind = ProvenanceKind.INTER_SESSION
        case (_, "subagent"):
            kind = ProvenanceKind.SUBAGENT
        case _:
            kind = ProvenanceKind.SYSTEM
    return Provenance(
        kind=kind,
        principal=UNKNOWN if anothers else principal,
        source_session=as_optional(said.get("sourceSessionKey")),
        source_channel=as_optional(said.get("sourceChannel")),
        source_tool=as_optional(said.get("sourceTool")),
    )


def _usage(usage: JsonObject) -> Usage:
    return Usage(
        input=as_count(usage.get("input")),
        output=as_count(usage.get("output")),
        cache_read=as_count(usage.get("cacheRead")),
        cache_write=as_count(usage.get("cacheWrite")),
        total=as_count(usage.get("totalTokens")),
        cost_micros=micros_of(as_object(usage.get("cost")).get("total")),
    )


def micros_of(dollars: JsonValue) -> int:
    """Millionths; 0 for what is no plausible sum."""
    if isinstance(dollars, int | float) and 0 <= dollars < _MOST_DOLLARS:
        return round(dollars * MICROS)
    return 0


def _stop(reason: JsonValue) -> StopReason:
    try:
        return StopReason(as_text(reason))
    except ValueError:
        return StopReason.STOP


# -- writing -----------------------------------------------------------------------------------------


def message_to_json(message: Message) -> JsonObject:
    """The message as a line holds it; of the principal behind it only whether it was the owner."""
    fields = said_to_json(message)
    return (
        {**fields, "usage": _usage_to_json(message.usage)}
        if isinstance(message, AssistantMessage)
        else fields
    )


def said_to_json(message: Message) -> JsonObject:
    """The same without what it cost."""
    match message:
        case UserMessage():
            sender: JsonObject = {} if message.sender is None else {"sender": message.sender}
            return {
                "role": "user",
                "content": _user_content(message.content),
                "timestamp": message.at,
                "provenance": _provenance_to_json(message.provenance),
                **sender,
            }
        case AssistantMessage():
            error: JsonObject = {} if message.error is None else {"errorMessage": message.error}
            return {
                "role": "assistant",
                "content": [_assistant_block_to_json(block) for block in message.content],
                "api": message.api,
                "provider": message.provider,
                "model": message.model,
                "stopReason": str(message.stop),
                **error,
                "timestamp": message.at,
            }
        case ToolResult():
            details: JsonObject = {} if message.details is None else {"details": message.details}
            return {
                "role": "toolResult",
                "toolCallId": message.call_id,
                "toolName": message.tool,
                "content": [_user_block_to_json(block) for block in message.content],
                **details,
                "isError": message.is_error,
                "timestamp": message.at,
            }
        case _:
            assert_never(message)


def _user_content(content: tuple[UserBlock, ...]) -> JsonValue:
    match content:
        case (Text(text=only),):
            return only
        case _:
            return [_user_block_to_json(block) for block in content]


def _user_block_to_json(block: UserBlock) -> JsonObject:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image", "data": block.data, "mimeType": block.mime}


def _assistant_block_to_json(block: AssistantBlock) -> JsonObject:
    match block:
        case Text(text=said):
            return {"type": "text", "text": said}
        case Thinking(thinking=thinking, signature=None):
            return {"type": "thinking", "thinking": thinking}
        case Thinking(thinking=thinking, signature=signature):
            return {"type": "thinking", "thinking": thinking, "thinkingSignature": signature}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        case _:
            assert_never(block)


def _usage_to_json(usage: Usage) -> JsonObject:
    dollars, rest = divmod(usage.cost_micros, MICROS)
    return {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "totalTokens": usage.total,
        "cost": {"total": usage.cost_micros / MICROS if rest else dollars},
    }


def _provenance_to_json(provenance: Provenance) -> JsonObject:
    named: dict[str, JsonValue] = {"kind": _exported_kind(provenance.kind)}
    if provenance.source_session is not None:
        named["sourceSessionKey"] = provenance.source_session
    if provenance.source_channel is not None:
        named["sourceChannel"] = provenance.source_channel
    if provenance.source_tool is not None:
        named["sourceTool"] = provenance.source_tool
    if _from_child(provenance):
        named["sourceRole"] = "subagent"
    if not provenance.principal.is_owner:
        named["fromOwner"] = False
    return named


def _from_child(provenance: Provenance) -> bool:
    """Whether a sub-agent, or the session that started it, says this."""
    if provenance.kind is not ProvenanceKind.INTER_SESSION:
        return provenance.kind is ProvenanceKind.SUBAGENT
    try:
        sender = SessionKey.parse(provenance.source_session or "")
    except InvalidInput:
        return False
    return sender.kind in (KeyKind.SUBAGENT, KeyKind.ACP)


def _exported_kind(kind: ProvenanceKind) -> str:
    match kind:
        case ProvenanceKind.HUMAN:
            return "external_user"
        case ProvenanceKind.INTER_SESSION:
            return "inter_session"
        case _:
            return "internal_system"
