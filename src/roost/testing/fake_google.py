"""Answers as an endpoint writes them that speaks Google's generateContent."""

from typing import assert_never

from roost.core.jsonvalue import JsonObject
from roost.core.messages import StopReason, Usage
from roost.core.models import FailureKind
from roost.testing.fake_http import Reply, Said, Writer, event, refusal_of, refused_at_once
from roost.testing.scripts import CallTool, Fail, Say, Script, Think, stop_of, usage_of

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
    if failed := refused_at_once(script):
        return refusal_of(_ERRORS[failed.kind][0], _error(failed), failed.retry_after_ms)
    writer = _Writer()
    writer.write(script)
    last: JsonObject = {
        "candidates": [{"content": {"role": "model", "parts": []}, "finishReason": _STOPS[stop_of(script)]}],
        "usageMetadata": _usage(usage_of(script)),
        "modelVersion": "small",
        "responseId": "answer-1",
    }
    return Reply(pieces=(*writer.pieces, event(last)))


class _Writer(Writer):
    def said(self, step: Said) -> None:
        part = _part(step)
        candidate: JsonObject = {"content": {"role": "model", "parts": [part]}, "index": 0}
        whole: JsonObject = {"candidates": [candidate], "modelVersion": "small", "responseId": "answer-1"}
        self.pieces.append(event(whole))

    def failed(self, step: Fail) -> None:
        self.pieces.append(event(_error(step)))


def _part(step: Said) -> JsonObject:
    match step:
        case Say(text):
            return {"text": text}
        case Think(text):
            return {"text": text, "thought": True}
        case CallTool(call):
            return {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
        case _:
            assert_never(step)


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
