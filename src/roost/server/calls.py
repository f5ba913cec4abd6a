"""A request on its way to its answer. Each is answered once, but for `agent`, whose run is told of when it begins too."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from roost.core.errors import RoostError
from roost.core.jsonvalue import JsonValue
from roost.core.visibility import PersonCaller
from roost.protocol import frames
from roost.protocol.errors import BROKEN, failure_of, unknown_method
from roost.protocol.frames import ErrorCode, Failure, Request
from roost.protocol.method import Method
from roost.protocol.params import Params, read_params
from roost.protocol.scopes import NOT_THE_OWNER, missing, wrong_role
from roost.server.clients import Connected
from roost.server.house import House, Phase

_log = logging.getLogger(__name__)

P = TypeVar("P", bound=Params)
R = TypeVar("R")

STOPPING = Failure(code=ErrorCode.UNAVAILABLE, message="gateway stopping; retry shortly", retryable=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who asks for what, and where it is looked up."""

    house: House
    client: Connected
    id: str
    trace: str | None = None

    @property
    def caller(self) -> PersonCaller:
        return self.client.caller

    def answer(self, payload: JsonValue) -> None:
        self.client.outgoing.put(frames.response(self.id, payload))

    def refuse(self, error: Failure, payload: JsonValue = None) -> None:
        self.client.outgoing.put(frames.failure(self.id, error, payload))


class Unanswered(Exception):
    """The handler has said all there is to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound(Generic[P, R]):
    """A method and who answers it."""

    method: Method[P, R]
    handle: Callable[[Call, P], Awaitable[R]]

    async def answer(self, call: Call, params: JsonValue) -> R | Failure:
        if self.method.role is not call.client.role:
            return wrong_role(self.method.role)
        if self.method.owners and not call.caller.rules_all:
            return NOT_THE_OWNER
        read = read_params(self.method.name, self.method.params, params)
        needed = self.method.scope(read)
        if needed is not None and not call.client.may(needed):
            return missing(needed)
        return await self.handle(call, read)


Table = Mapping[str, Bound[Any, Any]]


async def serve(table: Table, call: Call, request: Request) -> None:
    """Answer a request, whatever happens."""
    if call.house.phase is not Phase.SERVING:
        call.refuse(STOPPING)
        return
    bound = table.get(request.method)
    if bound is None:
        call.refuse(unknown_method(request.method))
        return
    try:
        result = await bound.answer(call, request.params)
    except Unanswered:
        return
    except RoostError as error:
        call.refuse(failure_of(error))
        return
    except Exception:  # noqa: BLE001 — the root of a request: one that breaks must not end its connection
        _log.exception("a request for %s broke", request.method)
        call.refuse(BROKEN)
        return
    if isinstance(result, Failure):
        call.refuse(result)
    else:
        call.answer(result)
