"""What carries frames between a client and a gateway."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeAlias

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from roost.client.errors import Unreachable
from roost.core.errors import InvalidInput
from roost.protocol.handshake import MAX_PAYLOAD

OPEN_S = 10


class Wire(Protocol):
    """A connection that is open."""

    async def send(self, frame: bytes) -> None:
        """Hand a frame over. What can no longer be sent is dropped: `receive` tells of the end."""
        ...

    async def receive(self) -> str | bytes | None:
        """The next frame; None once the gateway has gone."""
        ...


Dial: TypeAlias = Callable[[], AbstractAsyncContextManager[Wire]]
"""Opens a connection; raises `Unreachable`."""


class _Socket:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, frame: bytes) -> None:
        try:
            await self._socket.send(frame.decode())
        except ConnectionClosed:
            return

    async def receive(self) -> str | bytes | None:
        try:
            return await self._socket.recv()
        except ConnectionClosed:
            return None


def dialing(url: str) -> Dial:
    """A WebSocket to an address."""

    @asynccontextmanager
    async def dial() -> AsyncIterator[Wire]:
        try:
            socket = await connect(
                url, compression=None, max_size=MAX_PAYLOAD, open_timeout=OPEN_S, close_timeout=1, proxy=None
            )
        except InvalidURI:
            raise InvalidInput(f"{url} is no WebSocket address", hint="write ws://HOST:PORT") from None
        except (OSError, InvalidHandshake, TimeoutError) as error:
            raise Unreachable(
                f"no gateway answers at {url}: {str(error) or type(error).__name__}",
                hint="start one with `roost gateway run`",
            ) from error
        try:
            yield _Socket(socket)
        finally:
            with anyio.CancelScope(shield=True):
                await socket.close()

    return dial
