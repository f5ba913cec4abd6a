"""What carries frames between a client and a gateway."""

import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeAlias

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from roost.client.errors import Unreachable, Untrusted
from roost.client.trust import Trust
from roost.core.errors import InvalidInput
from roost.protocol.handshake import MAX_PAYLOAD

OPEN_S = 10
# How an answer in clear text is told by the versions of the library.
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"})


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


def dialing(url: str, trust: Trust) -> Dial:
    """A WebSocket to an address, if whoever answers there can be trusted."""

    @asynccontextmanager
    async def dial() -> AsyncIterator[Wire]:
        socket = await _connected(url, trust)
        try:
            trust.accept(url, _certificate(socket))
            yield _Socket(socket)
        finally:
            with anyio.CancelScope(shield=True):
                await socket.close()

    return dial


async def _connected(url: str, trust: Trust) -> ClientConnection:
    context = trust.context(url)
    try:
        return await connect(
            url,
            ssl=context,
            compression=None,
            max_size=MAX_PAYLOAD,
            open_timeout=OPEN_S,
            close_timeout=1,
            proxy=None,
        )
    except InvalidURI:
        raise InvalidInput(f"{url} is no WebSocket address", hint="write ws://HOST:PORT") from None
    except ssl.SSLCertVerificationError as error:
        raise Untrusted(
            f"the certificate of {url} is not trusted: {error.verify_message}",
            hint="give the fingerprint that the gateway says when it starts with --tls-fingerprint",
        ) from error
    except (OSError, InvalidHandshake, TimeoutError) as error:
        if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
            raise Unreachable(
                f"what answers at {url} speaks no TLS",
                hint="write ws:// for it, or give that gateway a certificate: `gateway.tls`",
            ) from error
        raise Unreachable(
            f"no gateway answers at {url}: {_why(error)}",
            hint="start one with `roost gateway run`",
        ) from error


def _why(error: Exception) -> str:
    """In the words of the system where it has some: those of the event loop name its own call. The numbers of TLS are none
    of the system's."""
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__


def _certificate(socket: ClientConnection) -> bytes | None:
    """The one that the other end showed, where there is TLS."""
    session = socket.transport.get_extra_info("ssl_object")
    return None if session is None else session.getpeercert(binary_form=True)
