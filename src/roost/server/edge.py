"""What is turned away before anything else looks at it: names that were made up, proxies that are not listed."""

from typing import NamedTuple

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from roost.core.entrance import Entrance, RequestSource, host_allowed, source
from roost.server.auth import Peer
from roost.server.house import House
from roost.server.strangers import NAMED_TWICE, UNKNOWN_HOST, UNLISTED_PROXY


class _Problem(NamedTuple):
    code: str
    status: int
    kind: str
    why: str

    @property
    def answer(self) -> JSONResponse:
        return JSONResponse({"error": {"message": self.why, "type": self.kind}}, status_code=self.status)


_HOSTS = _Problem(NAMED_TWICE, 400, "invalid_request", "a request names one host")
_HOST = _Problem(
    UNKNOWN_HOST,
    403,
    "forbidden",
    "this gateway is not known by that name: list it in `gateway.allowedHosts`",
)
_PROXY = _Problem(
    UNLISTED_PROXY,
    403,
    "forbidden",
    "forwarded headers of a proxy that is not listed: name it in `gateway.trustedProxies`",
)


class Edge:
    """Around the whole application. A browser always says its page's origin at a handshake, which is judged there."""

    def __init__(self, app: ASGIApp, house: House) -> None:
        self._app = app
        self._house = house

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"}:
            asked = HTTPConnection(scope)
            problem = _problem(asked, self._house.engine.rules.house.entrance)
            if problem is not None:
                self._house.strangers.turned_away(problem.code, _address(asked))
                await problem.answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _problem(asked: HTTPConnection, entrance: Entrance) -> _Problem | None:
    if len(asked.headers.getlist("host")) > 1:
        return _HOSTS
    upgrade = asked.scope["type"] == "websocket"
    if (not upgrade or "origin" in asked.headers) and not host_allowed(
        asked.headers.get("host", ""), entrance
    ):
        return _HOST
    if (upgrade or not entrance.asks) and not _source(asked, entrance).vouched:
        return _PROXY
    return None


def _source(asked: HTTPConnection, entrance: Entrance) -> RequestSource:
    return source(_address(asked), asked.headers.items(), entrance.proxies)


def _address(asked: HTTPConnection) -> str:
    return asked.client.host if asked.client else ""


def peer_of(asked: HTTPConnection, house: House) -> Peer:
    """Where a request comes from, as far as it is known for sure."""
    entrance = house.engine.rules.house.entrance
    found, login = _source(asked, entrance), entrance.login
    return Peer(
        user=None if login is None else login.named(_address(asked), asked.headers.items()),
        host=found.address,
        origin=asked.headers.get("origin"),
        called=asked.headers.get("host"),
        local=found.local,
    )
