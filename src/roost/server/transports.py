"""Connections as the server library keeps them, with limits on what nobody has vouched for: silence, bytes, numbers."""

import asyncio
from collections import OrderedDict
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from roost.protocol.handshake import MAX_BEFORE_HELLO, MAX_PAYLOAD

HEAD_S = 15.0
MAX_HEAD = 64 * 1024
HEAD_END = b"\r\n\r\n"
MOST_SILENT = 4_096
LINGER_S = 3.0
LET_IN = "roost.let_in"


class Silent:
    """Connections that have not yet said what they want, oldest first."""

    def __init__(self, most: int = MOST_SILENT) -> None:
        self._most = most
        self._waiting: OrderedDict[int, asyncio.Transport] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, transport: asyncio.Transport) -> None:
        self._waiting[id(transport)] = transport
        if len(self._waiting) > self._most:
            _, longest = self._waiting.popitem(last=False)
            longest.abort()

    def drop(self, transport: asyncio.Transport) -> None:
        self._waiting.pop(id(transport), None)


class Cautious(HttpToolsProtocol):
    """Closes who does not finish the head of a request in time, or sends too long a one."""

    silent: ClassVar[Silent]
    head_s: ClassVar[float]
    _hurry: asyncio.TimerHandle | None = None
    _head = 0
    _tail = b""
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.silent.add(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        if self._in_head and self._head_with(data) > MAX_HEAD:
            self.transport.abort()
            return
        super().data_received(data)

    def _head_with(self, data: bytes) -> int:
        """The length of the head so far; what comes behind its end is none of it."""
        end = (self._tail + data).find(HEAD_END)
        self._head += len(data) if end < 0 else max(0, end - len(self._tail))
        self._tail = (self._tail + data)[-len(HEAD_END) + 1 :]
        return self._head

    def on_message_begin(self) -> None:
        self._in_head = True
        self._wait_for_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head, self._tail, self._in_head = 0, b"", False
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        if self._hurry is None:
            self._hurry = self.loop.call_later(self.head_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        self.silent.drop(self.transport)
        if self._hurry is not None:
            self._hurry.cancel()
            self._hurry = None


def cautious(silent: Silent, head_s: float = HEAD_S) -> type[Cautious]:
    """Such connections, counted together."""
    return type("Counted", (Cautious,), {"silent": silent, "head_s": head_s})


class Widening(WebSocketsSansIOProtocol):
    """Takes small messages until its client has been let in."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.conn.max_message_size = MAX_BEFORE_HELLO

    async def run_asgi(self) -> None:
        self.scope["state"][LET_IN] = self._let_in
        await super().run_asgi()
        # Who does not read would never let the last of it go.
        self.loop.call_later(LINGER_S, self.transport.abort)

    def _let_in(self) -> None:
        self.conn.max_message_size = MAX_PAYLOAD
