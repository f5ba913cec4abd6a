"""`POST /hooks/<name>`: calls of other services, with a token or a signature of their own."""

import logging
from collections import deque
from dataclasses import replace
from typing import Literal, NotRequired

from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from roost.core.entrance import Attempts
from roost.core.errors import RoostError
from roost.core.hookorders import schema_of
from roost.core.hooks import (
    DELIVERY,
    GITHUB,
    SIGNATURE,
    TIMESTAMP,
    TOKENS,
    Action,
    Call,
    HookRules,
    Proof,
    Replayed,
    Signed,
    Unproven,
)
from roost.core.jobs import Wake
from roost.core.jsonvalue import JsonObject
from roost.engine.hooks import Hooks, Taken
from roost.protocol.traces import trace_of
from roost.server.endings import NOT_YET, Ending, Fate, ending
from roost.server.house import House, Phase
from roost.server.http.entry import PeerOf
from roost.server.http.offers import (
    AWAY,
    BAD,
    BUSY,
    FORBIDDEN,
    JSON,
    NOT_FOUND,
    TAKEN,
    UNAUTHORIZED,
    WRITE,
    Body,
    Offer,
    Shape,
)
from roost.server.http.pages import Json, Turned, as_json, read_body, turned_away
from roost.server.http.unread import Unread
from roost.server.strangers import HOOK_UNPROVEN
from roost.server.throttle import Throttle

MINUTE_MS = 60_000
LONGEST_WAIT_MS = 10 * MINUTE_MS
LIMIT = Attempts()

_log = logging.getLogger(__name__)


class Woken(TypedDict):
    ok: Literal[True]
    mode: Wake
    eventOutcome: Literal["queued"]
    duplicate: NotRequired[Literal[True]]


class Begun(TypedDict):
    """`status`, and why it is no other, once the turn has ended: for who waits for it."""

    ok: Literal[True]
    runId: str | None
    sessionKey: str
    duplicate: NotRequired[Literal[True]]
    status: NotRequired[Fate]
    reason: NotRequired[str]


class Refused(TypedDict):
    ok: Literal[False]
    error: str
    code: str


HOOKS = "hooks"


def _offer(name: str, about: str, schema: JsonObject, gives: Shape, *signed: tuple[str, ...]) -> Offer:
    rules = HookRules()
    return Offer(
        paths=(f"{rules.path}/{name}",),
        about=about,
        verbs=WRITE,
        body=Body(schema=schema, most=rules.most_bytes),
        proofs=((HOOKS,), *((name,) for name in TOKENS), *signed),
        headers={
            **dict.fromkeys(DELIVERY, "The name of the delivery."),
            "traceparent": "The trace it belongs to.",
        },
        gives={JSON: gives},
        refusal=Refused,
        refuses=(UNAUTHORIZED, FORBIDDEN, NOT_FOUND, TAKEN, BUSY, AWAY),
    )


WAKE = _offer("wake", "An event for the next turn of a session.", schema_of(Action.WAKE), Woken)
AGENT = _offer("agent", "A turn in a session of its own.", schema_of(Action.AGENT), Begun)
MAPPED = _offer(
    "{name}",
    "What `hooks.mappings` makes of the payload.",
    {},
    Woken | Begun,
    (GITHUB,),
    (SIGNATURE, TIMESTAMP),
)


class HookPage:
    def __init__(self, house: House, peer_of: PeerOf) -> None:
        self._house = house
        self._peer_of = peer_of
        self._throttle = Throttle()
        self._unread = Unread()
        self._calls: deque[int] = deque()

    async def call(self, request: Request) -> Response:
        try:
            taken = await self._taken(request)
            return Json(await self._told(taken))
        except Turned as turned:
            return _refused(turned)
        except RoostError as error:
            return _refused(turned_away(error))

    async def _taken(self, request: Request) -> Taken:
        hooks, now = self._house.engine.hooks, self._house.clock.now()
        if self._house.phase is not Phase.SERVING:
            raise Turned(AWAY, f"the gateway is {self._house.phase}", "unavailable", retry_ms=1_000)
        if hooks.rules.token is None:
            raise Turned(NOT_FOUND, "there are no hooks here", "not_found")
        if request.query_params:
            raise Turned(BAD, "a token does not belong into an address", "invalid_request_error")
        name = request.path_params["name"]
        address = self._peer_of(request).host
        call = Call(name=name, headers=dict(request.headers), body=b"", at=now)
        body = await self._read(request, hooks, call, address)
        # Judged as it is now: a token may have been replaced while the body came.
        proof = self._proven(hooks, replace(call, body=body), address)
        shown = proof.signature if isinstance(proof, Signed) else ""
        self._hold_off(shown, now, "too many calls with this signature")
        self._count(now, hooks.rules.per_minute)
        try:
            trace = trace_of(request.headers.get("traceparent"))
            return await hooks.take(name, as_json(body), proof, trace)
        except Replayed as error:
            # Of those who call rightly a replay takes nothing: neither their address nor their calls a minute.
            self._throttle.count(shown, now, LIMIT)
            if now in self._calls:
                self._calls.remove(now)
            _log.warning("hook %s: a call from %s was refused: %s", name, address, error.message)
            raise Turned(TAKEN, str(error), error.code) from None

    async def _read(self, request: Request, hooks: Hooks, call: Call, address: str) -> bytes:
        if hooks.rules.signed(call.name):
            return await self._unread.read(request, hooks.rules.most_bytes, self._house.callers)
        self._proven(hooks, call, address)
        return await read_body(request, hooks.rules.most_bytes, self._house.callers)

    async def _told(self, taken: Taken) -> Woken | Begun:
        """What was taken, and how the turn came out for who waits for it; what was said is for its session."""
        record, order = taken.accepted.record, taken.order
        if order.action is Action.WAKE:
            woken = Woken(ok=True, mode=order.wake, eventOutcome="queued")
            if taken.accepted.duplicate:
                woken["duplicate"] = True
            return woken
        begun = Begun(ok=True, runId=record.run_id, sessionKey=str(record.inbound.key))
        if taken.accepted.duplicate:
            begun["duplicate"] = True
        if order.waits:
            # Where the gateway leaves meanwhile: it was taken all the same, and need not be sent again.
            end = Ending(fate=Fate.TIMEOUT, reason=NOT_YET)
            with self._house.callers.staying():
                end = ending(await self._house.engine.waits.for_message(record.inbound.id, LONGEST_WAIT_MS))
            begun["status"] = end.fate
            if end.reason is not None:
                begun["reason"] = end.reason
        return begun

    def _proven(self, hooks: Hooks, call: Call, address: str) -> Proof:
        try:
            return hooks.prove(call)
        except Unproven as error:
            self._house.strangers.turned_away(HOOK_UNPROVEN, address)
            self._hold_off(address, call.at, "too many wrong tokens")
            self._throttle.count(address, call.at, LIMIT)
            raise Turned(UNAUTHORIZED, str(error), "unauthorized") from None

    def _hold_off(self, source: str, now: int, why: str) -> None:
        """Turn away who was wrong too often. Who shows the right thing is no such, wherever the call comes from."""
        if retry := self._throttle.retry_ms(source, now, LIMIT):
            raise Turned(BUSY, why, "rate_limited", retry_ms=retry)

    def _count(self, now: int, most: int) -> None:
        while self._calls and self._calls[0] <= now - MINUTE_MS:
            self._calls.popleft()
        if len(self._calls) >= most:
            wait = self._calls[0] + MINUTE_MS - now
            raise Turned(BUSY, f"more than {most} calls a minute", "rate_limited", retry_ms=wait)
        self._calls.append(now)


def _refused(turned: Turned) -> Response:
    headers = dict(turned.response.headers)
    kept = {name: headers[name] for name in headers if name == "retry-after"}
    return Json(Refused(ok=False, error=turned.message, code=turned.kind), turned.status, kept)
