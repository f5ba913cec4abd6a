"""What is turned away before anything else looks at it: names that were made up, proxies that are not listed."""

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from roost.core.entrance import Entrance, RequestSource, host_allowed, source
from roost.server.auth import Peer
from roost.server.house import House

_HOST = "this gateway is not known by that name: list it in `gateway.allowedHosts`"
_HOSTS = "a request names one host"
_PROXY = "forwarded headers of a proxy that is not listed: name it in `gateway.trustedProxies`"


class Edge:
    """Around the whole application. A browser always says its page's origin at a handshake, which is judged there."""

    def __init__(self, app: ASGIApp, house: House) -> None:
        self._app = app
        self._house = house

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"}:
            asked = HTTPConnection(scope)
            if len(asked.headers.getlist("host")) > 1:
                await _refusal(400, "invalid_request", _HOSTS)(scope, receive, send)
                return
            why = _problem(asked, self._house.engine.rules.house.entrance)
            if why is not None:
                await _refusal(403, "forbidden", why)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _refusal(status: int, kind: str, why: str) -> JSONResponse:
    return JSONResponse({"error": {"message": why, "type": kind}}, status_code=status)


def _problem(asked: HTTPConnection, entrance: Entrance) -> str | None:
    upgrade = asked.scope["type"] == "websocket"
    if (not upgrade or "origin" in asked.headers) and not host_allowed(
        asked.headers.get("host", ""), entrance
    ):
        return _HOST
    if (upgrade or not entrance.asks) and not _source(asked, entrance).vouched:
        return _PROXY
    return None


def _source(asked: HTTPConnection, entrance: Entrance) -> RequestSource:
    address = asked.client.host if asked.client else None
    return source(address, asked.headers.items(), entrance.proxies)


def peer_of(asked: HTTPConnection, house: House) -> Peer:
    """Where a request comes from, as far as it is known for sure."""
    entrance = house.engine.rules.house.entrance
    found, login = _source(asked, entrance), entrance.login
    address = asked.client.host if asked.client else None
    return Peer(
        user=None if login is None else login.named(address, asked.headers.items()),
        host=found.address,
        origin=asked.headers.get("origin"),
        called=asked.headers.get("host"),
        local=found.local,
    )
