"""Frames as a client writes and reads them."""

from dataclasses import dataclass
from typing import TypeAlias

import orjson

from roost.client.errors import Refused
from roost.client.events import Event
from roost.core.jsonvalue import JsonObject, JsonValue, as_object
from roost.protocol.frames import ErrorCode, encode

UNSAID = "the gateway gave no reason"


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The answer to a request: what it gave, or the refusal."""

    id: str
    payload: JsonValue
    refusal: Refused | None = None

    @property
    def is_preliminary(self) -> bool:
        """Whether another answer to the same request follows: a run was taken on."""
        return isinstance(self.payload, dict) and self.payload.get("status") == "accepted"


Read: TypeAlias = Response | Event | None
"""None for what a client has no use for."""


def request(request_id: str, method: str, params: JsonObject) -> bytes:
    return encode({"type": "req", "id": request_id, "method": method, "params": params})


def read(text: str | bytes) -> Read:
    try:
        frame = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    match frame:
        case {"type": "event", "event": str(name)}:
            return Event(name=name, payload=as_object(frame.get("payload")), seq=frame.get("seq"))
        case {"type": "res", "id": str(request_id), "ok": True}:
            return Response(id=request_id, payload=frame.get("payload"))
        case {"type": "res", "id": str(request_id)}:
            refusal = _refusal(as_object(frame.get("error")), frame.get("payload"))
            return Response(id=request_id, payload=frame.get("payload"), refusal=refusal)
        case _:
            return None


def _refusal(error: JsonObject, payload: JsonValue) -> Refused:
    details = as_object(error.get("details"))
    message, hint = str(error.get("message") or UNSAID), str(details.get("hint") or "")
    return Refused(
        message.removesuffix(f" ({hint})") if hint else message,
        wire_code=str(error.get("code") or ErrorCode.UNAVAILABLE),
        details=details,
        payload=payload,
        hint=hint,
        for_now=error.get("retryable") is True,
    )
