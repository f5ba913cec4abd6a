"""Frames: one JSON object each, read from a client and written to one."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import orjson

from roost.core.jsonvalue import JsonObject, JsonValue, compact
from roost.core.keytext import SURROGATE

INVALID_ID = "invalid"
MOST_ESCAPED = 100_000
_KNOWN = frozenset({"type", "id", "method", "params", "traceparent", "expectedProfileId"})

# An escape that is no half must not look like one, and no JSON holds this as it is.
_BACKSLASH, _ASIDE = "\\\\", "\x00"
_HIGH, _LOW = r"[89abAB][0-9a-fA-F]{2}", r"[c-fC-F][0-9a-fA-F]{2}"
_HALF = re.compile(rf"\\u[dD](?:{_HIGH}(?!\\u[dD]{_LOW})|(?<!\\u[dD]{_HIGH}\\u[dD]){_LOW})")


class ErrorCode(StrEnum):
    INVALID_REQUEST = "INVALID_REQUEST"
    UNAVAILABLE = "UNAVAILABLE"
    FORBIDDEN = "FORBIDDEN"
    NOT_PAIRED = "NOT_PAIRED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a request was not done. `message` is never empty: clients pass over a frame without one."""

    code: ErrorCode
    message: str
    details: JsonObject | None = None
    retryable: bool | None = None
    retry_after_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request; parameters that were left out are the empty object."""

    id: str
    method: str
    params: JsonValue
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """JSON that is no request, and what is wrong with it."""

    problem: str


@dataclass(frozen=True, slots=True)
class NotJson:
    pass


Read: TypeAlias = Request | Malformed | NotJson


class TooManyHalves(ValueError):
    """A text with so many escaped surrogates that nobody looks for the half among them."""


def parse(text: str | bytes) -> JsonValue:
    """The JSON that somebody sent; raises `ValueError`. Of a character that was cut in half its place is left."""
    escaped = _escaped(text)
    if 0 < escaped <= MOST_ESCAPED:
        text = _without_halves(text if isinstance(text, str) else text.decode())
    try:
        value: JsonValue = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if escaped > MOST_ESCAPED:
            raise TooManyHalves(f"half a character among more than {MOST_ESCAPED} escaped ones") from error
        raise
    return value


def _escaped(text: str | bytes) -> int:
    """How many halves of characters are written as escapes, at most: most often none."""
    if isinstance(text, bytes):
        return text.count(b"\\ud") + text.count(b"\\uD") if b"\\" in text else 0
    return text.count("\\ud") + text.count("\\uD") if "\\" in text else 0


def _without_halves(text: str) -> str:
    if _ASIDE in text:
        return text
    mended = _HALF.sub(r"\\ufffd", text.replace(_BACKSLASH, _ASIDE))
    return mended.replace(_ASIDE, _BACKSLASH)


def read(text: str | bytes) -> Read:
    """What a client sent."""
    try:
        value = parse(text)
    except TooManyHalves as error:
        return Malformed(str(error))
    except ValueError:
        return NotJson()
    if not isinstance(value, dict):
        return Malformed("must be object")
    problem = _wrong(value)
    if problem is not None:
        return Malformed(problem)
    return Request(
        id=value["id"],
        method=value["method"],
        params=value.get("params", {}),
        traceparent=value.get("traceparent"),
    )


def _wrong(frame: JsonObject) -> str | None:
    if frame.get("type") != "req":
        return "at /type: must be equal to constant"
    for name in ("id", "method"):
        if name not in frame:
            return f"must have required property '{name}'"
        if not isinstance(frame[name], str) or not frame[name]:
            return f"at /{name}: must be a string that is not empty"
    if not isinstance(frame.get("traceparent", ""), str):
        return "at /traceparent: must be string"
    unknown = next((name for name in frame if name not in _KNOWN), None)
    return None if unknown is None else f"at root: unexpected property '{unknown}'"


def encode(value: JsonValue) -> bytes:
    """JSON text of a value. Numbers beyond 64 bits are rare, and written the slow way; so is what holds half a character,
    of which its place is left."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", compact(value)).encode()


def response(request_id: str, payload: JsonValue) -> bytes:
    return encode({"type": "res", "id": request_id, "ok": True, "payload": payload})


def failure(request_id: str, error: Failure, payload: JsonValue = None) -> bytes:
    """A refusal; a run that failed is told with a payload too."""
    told: JsonObject = {} if payload is None else {"payload": payload}
    return encode({"type": "res", "id": request_id, "ok": False, **told, "error": error_object(error)})


def error_object(error: Failure) -> JsonObject:
    shape: dict[str, JsonValue] = {
        "code": str(error.code),
        "message": error.message or str(error.code),
        "details": error.details,
        "retryable": error.retryable,
        "retryAfterMs": error.retry_after_ms,
    }
    return {name: value for name, value in shape.items() if value is not None}


def event_head(name: str, payload: JsonValue) -> bytes:
    """An event up to its number: everything that is the same for all who get it."""
    return b'{"type":"event","event":%b,"payload":%b' % (encode(name), encode(payload))


def event(head: bytes, seq: int | None = None) -> bytes:
    """The event as one connection gets it."""
    return head + (b"}" if seq is None else b',"seq":%d}' % seq)
