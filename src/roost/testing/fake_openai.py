"""An endpoint on this machine that speaks chat completions."""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from roost.core.jsonvalue import JsonObject, JsonValue, compact
from roost.core.messages import StopReason, ToolCall, Usage
from roost.core.models import FailureKind
from roost.testing.fake_http import Cut, FakeEndpoint, Piece, Reply, event, refusal_of
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
_ERRORS = {
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
    error: JsonObject = {"message": message, "type": "error", "code": code}
    reply = refusal_of(status, {"error": error})
    if retry_after is None:
        return reply
    return replace(reply, headers=(*reply.headers, ("retry-after", retry_after)))


def reply_of(script: Script, *, thinking: str = "reasoning_content") -> Reply:
    """The script in the shape of the wire. A failure before anything is said is an HTTP error.

    `thinking` is what the endpoint calls it: there is no agreed name.
    """
    first = script[0] if script else None
    if isinstance(first, Fail):
        status, code = _ERRORS[first.kind]
        wait = first.retry_after_ms
        after = None if wait is None else f"{wait / 1000:g}"
        return refused(status, first.message, code=code, retry_after=after)
    pieces: list[Piece] = [delta(role="assistant", content="")]
    index = 0
    for step in script:
        pieces += _pieces(step, index, thinking)
        index += isinstance(step, CallTool)
    pieces += [delta(finish=_FINISH[stop_of(script)]), usage_chunk(usage_of(script)), DONE]
    return Reply(pieces=tuple(pieces))


def _pieces(step: Step, index: int, thinking: str) -> list[Piece]:
    match step:
        case Say(text):
            return [delta(content=text)]
        case Think(text):
            return [delta(**{thinking: text})]
        case CallTool(call):
            return list(_call_pieces(call, index))
        case Until() | Hang():
            return [step]
        case Fail(FailureKind.TRANSIENT):
            return [Cut()]
        case Fail(kind, message):
            return [event({"error": {"message": message, "code": _ERRORS[kind][1]}}), Cut()]
        case Spend() | Stop():
            return []
        case _:
            assert_never(step)


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
