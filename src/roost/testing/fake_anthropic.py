"""Answers as an endpoint writes them that speaks Anthropic's messages."""

from typing import assert_never

from roost.core.jsonvalue import JsonObject, compact
from roost.core.messages import StopReason, ToolCall, Usage
from roost.core.models import FailureKind
from roost.testing.fake_http import Reply, Said, Writer, event, refusal_of, refused_at_once
from roost.testing.scripts import CallTool, Fail, Say, Script, Think, stop_of, usage_of

SIGNATURE = "c2lnbmVk"

_STOPS = {StopReason.STOP: "end_turn", StopReason.LENGTH: "max_tokens", StopReason.TOOL_USE: "tool_use"}
_ERRORS = {
    FailureKind.AUTH: (401, "authentication_error", ""),
    FailureKind.RATE_LIMIT: (429, "rate_limit_error", ""),
    FailureKind.OVERFLOW: (400, "invalid_request_error", "prompt is too long: "),
    FailureKind.TRANSIENT: (529, "overloaded_error", ""),
    FailureKind.PERMANENT: (404, "not_found_error", ""),
}


def reply_of(script: Script) -> Reply:
    """The script in the shape of the wire. A failure before anything is said is an HTTP error."""
    if failed := refused_at_once(script):
        return refusal_of(_ERRORS[failed.kind][0], _error(failed), failed.retry_after_ms)
    usage = usage_of(script)
    writer = _Writer()
    writer.event(_opening(usage))
    writer.write(script)
    writer.close()
    writer.event(
        {
            "type": "message_delta",
            "delta": {"stop_reason": _STOPS[stop_of(script)], "stop_sequence": None},
            "usage": {"output_tokens": usage.output},
        }
    )
    writer.event({"type": "message_stop"})
    return Reply(pieces=tuple(writer.pieces))


def _error(failed: Fail) -> JsonObject:
    _, kind, said = _ERRORS[failed.kind]
    return {"type": "error", "error": {"type": kind, "message": said + failed.message}}


def _opening(usage: Usage) -> JsonObject:
    counted: JsonObject = {
        "input_tokens": usage.input,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": 0,
    }
    message: JsonObject = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "small",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": counted,
    }
    return {"type": "message_start", "message": message}


class _Writer(Writer):
    """Blocks one after another; `kind` is that of the open one."""

    kind = ""
    index = -1

    def event(self, data: JsonObject) -> None:
        self.pieces.append(event(data, str(data["type"])))

    def said(self, step: Said) -> None:
        match step:
            case Say(text):
                self._open("text", {"type": "text", "text": ""})
                self._delta({"type": "text_delta", "text": text})
            case Think(text):
                self._open("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                self._delta({"type": "thinking_delta", "thinking": text})
            case CallTool(call):
                self._call(call)
            case _:
                assert_never(step)

    def failed(self, step: Fail) -> None:
        self.event(_error(step))

    def close(self) -> None:
        if self.kind == "thinking":
            self._delta({"type": "signature_delta", "signature": SIGNATURE})
        if self.kind:
            self.event({"type": "content_block_stop", "index": self.index})
        self.kind = ""

    def _open(self, kind: str, block: JsonObject) -> None:
        if kind == self.kind:
            return
        self.close()
        self.kind, self.index = kind, self.index + 1
        self.event({"type": "content_block_start", "index": self.index, "content_block": block})

    def _delta(self, delta: JsonObject) -> None:
        self.event({"type": "content_block_delta", "index": self.index, "delta": delta})

    def _call(self, call: ToolCall) -> None:
        self.close()
        self._open("tool_use", {"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
        text = compact(call.arguments)
        for piece in (text[:5], text[5:]):
            self._delta({"type": "input_json_delta", "partial_json": piece})
        self.close()
