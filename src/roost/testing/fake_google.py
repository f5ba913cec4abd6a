"""Answers as an endpoint writes them that speaks Google's generateContent."""

from typing import assert_never

from roost.core.jsonvalue import JsonObject
from roost.core.messages import StopReason, Usage
from roost.core.models import FailureKind
from roost.testing.fake_http import Cut, Piece, Reply, event, refusal_of
from roost.testing.scripts import (
    CallTool,
    Fail,
    Hang,
    Say,
    Script,
    Spend,
    Step,
    Stop,
    Think,
    Until,
    stop_of,
    usage_of,
)

_STOPS = {StopReason.STOP: "STOP", StopReason.LENGTH: "MAX_TOKENS", StopReason.TOOL_USE: "STOP"}
_ERRORS = {
    FailureKind.AUTH: (403, "PERMISSION_DENIED", ""),
    FailureKind.RATE_LIMIT: (429, "RESOURCE_EXHAUSTED", ""),
    FailureKind.OVERFLOW: (400, "INVALID_ARGUMENT", "The input token count exceeds the maximum allowed. "),
    FailureKind.TRANSIENT: (503, "UNAVAILABLE", ""),
    FailureKind.PERMANENT: (404, "NOT_FOUND", ""),
}


def reply_of(script: Script) -> Reply:
    """The script in the shape of the wire. A failure before anything is said is an HTTP error."""
    first = script[0] if script else None
    if isinstance(first, Fail):
        return refusal_of(_ERRORS[first.kind][0], _error(first), first.retry_after_ms)
    pieces = [piece for step in script for piece in _pieces(step)]
    last: JsonObject = {
        "candidates": [{"content": {"role": "model", "parts": []}, "finishReason": _STOPS[stop_of(script)]}],
        "usageMetadata": _usage(usage_of(script)),
        "modelVersion": "small",
        "responseId": "answer-1",
    }
    return Reply(pieces=(*pieces, event(last)))


def _pieces(step: Step) -> list[Piece]:
    match step:
        case Say(text):
            return [_part({"text": text})]
        case Think(text):
            return [_part({"text": text, "thought": True})]
        case CallTool(call):
            return [_part({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}})]
        case Until() | Hang():
            return [step]
        case Fail(FailureKind.TRANSIENT):
            return [Cut()]
        case Fail():
            return [event(_error(step)), Cut()]
        case Spend() | Stop():
            return []
        case _:
            assert_never(step)


def _part(part: JsonObject) -> bytes:
    candidate: JsonObject = {"content": {"role": "model", "parts": [part]}, "index": 0}
    return event({"candidates": [candidate], "modelVersion": "small", "responseId": "answer-1"})


def _error(failed: Fail) -> JsonObject:
    status, name, said = _ERRORS[failed.kind]
    return {"error": {"code": status, "message": said + failed.message, "status": name}}


def _usage(usage: Usage) -> JsonObject:
    return {
        "promptTokenCount": usage.input + usage.cache_read,
        "candidatesTokenCount": usage.output,
        "cachedContentTokenCount": usage.cache_read,
        "totalTokenCount": usage.total,
    }
