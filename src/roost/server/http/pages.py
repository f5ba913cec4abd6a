"""A page: the verbs it knows, who answers it, and how it turns a request away. No input makes it break."""

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias, cast

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as Asgi

from roost.core.errors import Forbidden, InvalidInput, KeyTaken, NotFound, RoostError
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.frames import encode, parse
from roost.server.auth import Admitted
from roost.server.callers import Callers, Stay
from roost.server.http.offers import (
    AWAY,
    BAD,
    FORBIDDEN,
    JSON,
    LATE,
    NOT_FOUND,
    TAKEN,
    TOO_LARGE,
    UNKNOWN_VERB,
    Failure,
    Offer,
    Reason,
)

BODY_S = 30

Answer: TypeAlias = Callable[[Request], Awaitable[Response]]


class Turned(Exception):
    """A request that is not served, and what its sender is told."""

    def __init__(self, status: int, message: str, kind: str, *, retry_ms: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.retry_ms = retry_ms

    @property
    def response(self) -> Response:
        headers = {} if self.retry_ms is None else {"Retry-After": str(math.ceil(self.retry_ms / 1000))}
        return Json(Failure(error=Reason(message=self.message, type=self.kind)), self.status, headers)


class Json(Response):
    media_type = JSON

    def __init__(
        self, value: Mapping[str, object], status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(encode(cast("JsonObject", value)), status, headers)


class Page:
    """One page as an ASGI application."""

    def __init__(self, verbs: tuple[str, ...], answer: Answer) -> None:
        self._verbs = verbs
        self._answer = answer

    async def __call__(self, scope: Asgi, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            response = await self._answered(request)
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _answered(self, request: Request) -> Response:
        if request.method not in self._verbs:
            allowed = ", ".join(self._verbs)
            why = Reason(message=f"this page answers {allowed}", type="method_not_allowed")
            return Json(Failure(error=why), UNKNOWN_VERB, {"Allow": allowed})
        try:
            return await self._answer(request)
        except Turned as turned:
            return turned.response
        except RoostError as refused:
            return turned_away(refused).response


async def no_page(request: Request, missing: Exception) -> Response:
    return Turned(NOT_FOUND, "there is no such page", "not_found").response


def turned_away(refused: RoostError) -> Turned:
    match refused:
        case NotFound():
            return Turned(NOT_FOUND, str(refused), "not_found")
        case Forbidden():
            return Turned(FORBIDDEN, str(refused), "forbidden")
        case InvalidInput():
            return Turned(BAD, str(refused), "invalid_request_error")
        case KeyTaken():
            return Turned(TAKEN, str(refused), refused.code)
        case _:
            return Turned(AWAY, str(refused), "unavailable")


async def read_body(request: Request, most: int, callers: Callers, admitted: Admitted | None = None) -> bytes:
    """The body, which may be so long and no longer, in bytes and in time, as long as its sender may stay."""
    with callers.staying(admitted) as stay:
        try:
            with anyio.fail_after(BODY_S):
                return await _read(request, most)
        except TimeoutError:
            raise Turned(LATE, "the body did not come in time", "timeout") from None
    raise dismissed(stay)


async def read_json(request: Request, offer: Offer, callers: Callers, admitted: Admitted) -> JsonValue:
    """The body that an offer asks for."""
    assert offer.body is not None
    return as_json(await read_body(request, offer.body.most, callers, admitted))


def dismissed(stay: Stay) -> Turned:
    """What somebody is told who was sent away."""
    return Turned(stay.why.status, stay.why.reason, stay.why.kind)


def as_json(body: bytes) -> JsonValue:
    try:
        return parse(body)
    except ValueError:
        raise InvalidInput("the body is not JSON", hint="send one JSON object") from None


async def _read(request: Request, most: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most:
        raise _too_large(most)
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
    return b"".join(parts)


def _too_large(most: int) -> Turned:
    return Turned(TOO_LARGE, f"the body is longer than {most} bytes", "payload_too_large")
