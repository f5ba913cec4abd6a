"""The gateway as one ASGI application: pages by their path, a WebSocket on any."""

from functools import partial

from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from roost.server.auth import Authenticator
from roost.server.clients import Take
from roost.server.edge import Edge, peer_of
from roost.server.house import House
from roost.server.http.offers import NOT_FOUND
from roost.server.http.pages import no_page
from roost.server.http.routes import routes
from roost.server.socket import Door
from roost.server.transports import LET_IN, TAKE


class _Socket:
    """A WebSocket of the server's."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self.take: Take = socket.scope["state"][TAKE]

    async def receive(self) -> str | bytes | None:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text: str | None = message.get("text")
        data: bytes = message.get("bytes") or b""
        return data if text is None else text

    async def send(self, frame: bytes) -> None:
        try:
            await self._socket.send({"type": "websocket.send", "text": frame.decode()})
        except (RuntimeError, WebSocketDisconnect, OSError):
            # It has gone; the side that reads will hear of it.
            return

    async def close(self, code: int, reason: str) -> None:
        if self._socket.client_state is WebSocketState.CONNECTED:
            try:
                await self._socket.close(code, reason)
            except (RuntimeError, WebSocketDisconnect, OSError):
                return


def application(house: House, door: Door, authenticator: Authenticator) -> ASGIApp:
    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        await door.attend(_Socket(socket), peer_of(socket, house), socket.scope["state"][LET_IN])

    inside = Starlette(
        routes=[
            *routes(house, authenticator, partial(peer_of, house=house)),
            WebSocketRoute("/{path:path}", talk),
        ],
        exception_handlers={NOT_FOUND: no_page},
    )
    return Edge(_Covering(inside, house), house)


class _Covering:
    """Pages without the secrets of the configuration, whatever led them there."""

    def __init__(self, inside: ASGIApp, house: House) -> None:
        self._inside = inside
        self._house = house

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def cover(message: Message) -> None:
            if message["type"] == "http.response.body" and message.get("body"):
                message["body"] = self._house.covered(message["body"])
            await send(message)

        await self._inside(scope, receive, cover)
