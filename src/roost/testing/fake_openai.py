"""An endpoint on this machine that speaks chat completions."""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from roost.core.jsonvalue import JsonObject, JsonValue, compact
from roost.core.messages import StopReason, ToolCall, Usage
from roost.core.models import FailureKind
from roost.testing.fake_http import FakeEndpoint, Reply, Said, Writer, event, refusal_of, refused_at_once
from roost.testing.scripts import CallTool, Fail, Say, Script, Think, stop_of, usage_of

ARGUMENT_PIECE = 7
KEEP_ALIVE = b": keep-alive\n\n"
DONE = b"data: [DONE]\n\n"

_CHUNK: JsonObject = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1_700_000_000,
    "model": "small",
}
_FINISH = {StopReason.STOP: "stop", StopReason.LENGTH: "length", StopReason.TOOL_USE: "tool_calls"}
ERRORS = {
    FailureKind.AUTH: (401, "invalid_api_key"),
    FailureKind.RATE_LIMIT: (429, "rate_limit_exceeded"),
    FailureKind.OVERFLOW: (400, "context_length_exceeded"),
    FailureKind.TRANSIENT: (503, "server_error"),
    FailureKind.PERMANENT: (404, "model_not_found"),
}


def delta(finish: str | None = None, **fields: JsonValue) -> bytes:
    """A chunk that adds to the answer."""
    choice: JsonObject = {"index": 0, "delta": fields, "finish_reason": finish}
    return event({**_CHUNK, "choices": [choice]})


def usage_chunk(usage: Usage) -> bytes:
    counted: JsonObject = {
        "prompt_tokens": usage.input + usage.cache_read,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }
    return event({**_CHUNK, "choices": [], "usage": counted})


def refused(
    status: int, message: str = "as scripted", *, code: str | None = None, retry_after: str | None = None
) -> Reply:
    """An answer that is an error."""
    reply = refusal_of(status, error_body(message, code))
    if retry_after is None:
        return reply
    return replace(reply, headers=(*reply.headers, ("retry-after", retry_after)))


def error_body(message: str, code: str | None) -> JsonObject:
    return {"error": {"message": message, "type": "error", "code": code}}


def reply_of(script: Script, *, thinking: str = "reasoning_content") -> Reply:
    """The script in the shape of the wire. A failure before anything is said is an HTTP error.

    `thinking` is what the endpoint calls it: there is no agreed name.
    """
    if failed := refused_at_once(script):
        status, code = ERRORS[failed.kind]
        return refusal_of(status, error_body(failed.message, code), failed.retry_after_ms)
    writer = _Writer(thinking)
    writer.write(script)
    end = (delta(finish=_FINISH[stop_of(script)]), usage_chunk(usage_of(script)), DONE)
    return Reply(pieces=(delta(role="assistant", content=""), *writer.pieces, *end))


class _Writer(Writer):
    """`calls` is how many calls were written."""

    calls = 0

    def __init__(self, thinking: str) -> None:
        super().__init__()
        self._thinking = thinking

    def said(self, step: Said) -> None:
        match step:
            case Say(text):
                self.pieces.append(delta(content=text))
            case Think(text):
                self.pieces.append(delta(**{self._thinking: text}))
            case CallTool(call):
                self.pieces += _call_pieces(call, self.calls)
                self.calls += 1
            case _:
                assert_never(step)

    def failed(self, step: Fail) -> None:
        self.pieces.append(event({"error": {"message": step.message, "code": ERRORS[step.kind][1]}}))


def _call_pieces(call: ToolCall, index: int) -> Iterator[bytes]:
    opening: JsonObject = {
        "index": index,
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": ""},
    }
    yield delta(tool_calls=[opening])
    text = compact(call.arguments)
    for start in range(0, len(text), ARGUMENT_PIECE):
        piece: JsonObject = {"index": index, "function": {"arguments": text[start : start + ARGUMENT_PIECE]}}
        yield delta(tool_calls=[piece])


class FakeOpenAI(FakeEndpoint):
    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"
