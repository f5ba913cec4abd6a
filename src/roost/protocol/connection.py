"""One connection, without its socket: what has to happen for what a client sent.

It begins with a challenge, is opened by `connect`, and then carries requests; responses may come in any order.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject
from roost.protocol import frames
from roost.protocol.frames import INVALID_ID, ErrorCode, Failure, Malformed, NotJson, Request
from roost.protocol.handshake import (
    CHALLENGE,
    MAX_BEFORE_HELLO,
    MAX_PAYLOAD,
    NOT_CONNECT,
    NOT_JSON,
    Connect,
    Refusal,
    WorkerConnect,
    challenge,
    protocol_refusal,
    refused,
)
from roost.protocol.params import read_params

TOO_BIG = 1009


class Phase(StrEnum):
    CHALLENGED = "challenged"
    ASKING = "asking"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Send:
    """A frame for the client."""

    frame: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """The end, after a last frame if there is one."""

    code: int
    reason: str
    frame: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A client asks to come in; the answer is `welcome` or `turn_away`."""

    connect: Connect


@dataclass(frozen=True, slots=True)
class Serve:
    """A request of a client that is in."""

    request: Request


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


Action: TypeAlias = Send | Close | Ask | Serve | Nothing


class Connection:
    """The state of one connection. `seq` counts the events it got since it was opened."""

    def __init__(self, nonce: str, ts: int) -> None:
        self.phase = Phase.CHALLENGED
        self.nonce = nonce
        self.began = ts
        self._request_id = ""
        self._seq = 0

    def open(self) -> bytes:
        """The first frame there is."""
        return frames.event(frames.event_head(CHALLENGE, challenge(self.nonce, self.began)))

    def receive(self, text: str | bytes) -> Action:
        match self.phase:
            case Phase.CLOSED:
                return Nothing()
            case Phase.OPEN:
                return self._close(TOO_BIG, "message too big") if len(text) > MAX_PAYLOAD else _request(text)
            case _:
                return self._knock(text)

    def welcome(self, hello: JsonObject) -> bytes:
        self.phase = Phase.OPEN
        return frames.response(self._request_id, hello)

    def turn_away(self, refusal: Refusal) -> Close:
        failure = refusal.failure
        frame = None if failure is None else frames.failure(self._request_id or INVALID_ID, failure)
        return self._close(refusal.close, refusal.reason, frame)

    def end(self) -> None:
        """Whatever still comes in is not listened to."""
        self.phase = Phase.CLOSED

    def number(self, head: bytes) -> bytes:
        """An event as this connection gets it."""
        self._seq += 1
        return frames.event(head, self._seq)

    def _close(self, code: int, reason: str, frame: bytes | None = None) -> Close:
        self.phase = Phase.CLOSED
        return Close(code=code, reason=reason, frame=frame)

    def _knock(self, text: str | bytes) -> Action:
        if len(text) > MAX_BEFORE_HELLO:
            return self._close(TOO_BIG, "message too big before the handshake")
        if self.phase is Phase.ASKING:
            return self.turn_away(refused("invalid handshake: wait for the answer to connect"))
        match frames.read(text):
            case NotJson():
                return self.turn_away(NOT_JSON)
            case Malformed():
                return self.turn_away(NOT_CONNECT)
            case Request() as request:
                return self._asked(request)
            case other:
                assert_never(other)

    def _asked(self, request: Request) -> Action:
        self._request_id = request.id
        if request.method != "connect":
            return self.turn_away(NOT_CONNECT)
        try:
            connect = read_params("connect", WorkerConnect, request.params)
        except InvalidInput as error:
            return self.turn_away(refused(error.message))
        refusal = protocol_refusal(connect)
        if refusal is not None:
            return self.turn_away(refusal)
        self.phase = Phase.ASKING
        return Ask(connect=connect)


def _request(text: str | bytes) -> Action:
    """What was no request is answered under an id of its own, and what is no JSON not at all."""
    match frames.read(text):
        case NotJson():
            return Nothing()
        case Malformed(problem=problem):
            failed = Failure(code=ErrorCode.INVALID_REQUEST, message=f"invalid request frame: {problem}")
            return Send(frames.failure(INVALID_ID, failed))
        case Request() as request if request.method == "connect":
            failed = Failure(
                code=ErrorCode.INVALID_REQUEST, message="connect is only valid as the first request"
            )
            return Send(frames.failure(request.id, failed))
        case Request() as request:
            return Serve(request)
        case other:
            assert_never(other)
