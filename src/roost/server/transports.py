"""Connections as the server library keeps them, with limits on what nobody has vouched for: silence, bytes, numbers. What
many are told goes past its queue: for each of them that would be a task to wake."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from roost.protocol.handshake import MAX_BEFORE_HELLO, MAX_PAYLOAD

HEAD_S = 15.0
MAX_HEAD = 64 * 1024
HEAD_END = b"\r\n\r\n"
MOST_SILENT = 4_096
LINGER_S = 3.0
LET_IN, TAKE = "roost.let_in", "roost.take"


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
    """Closes who does not finish the head of a request in time, the first or a later one, or sends too long a one."""

    silent: ClassVar[Silent]
    head_s: ClassVar[float]
    _hurry: asyncio.TimerHandle | None = None
    _head = 0
    _tail = b""
    _in_head = True
    _unsent = 0
    _leaving = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.silent.add(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        if self._leaving:
            return
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

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # Where another request waited behind this one, it is being answered now.
        if self.transport.is_closing() or not self.cycle.response_complete:
            return
        self.silent.add(self.transport)
        self._wait_for_head()
        if self.cycle.more_body:
            self._leave()

    def _leave(self) -> None:
        """Nobody reads the rest of this body. Closed at once, the answer could be lost with it."""
        if self.transport.can_write_eof():
            self._leaving = True
            self.transport.write_eof()
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        if self._hurry is None:
            self._unsent = self.transport.get_write_buffer_size()
            self._hurry = self.loop.call_later(self.head_s, self._out_of_time)

    def _out_of_time(self) -> None:
        self._hurry = None
        if 0 < self.transport.get_write_buffer_size() < self._unsent:
            # It reads what it was answered, slowly.
            self._wait_for_head()
        else:
            self.transport.abort()

    def _stop_waiting(self) -> None:
        self.silent.drop(self.transport)
        if self._hurry is not None:
            self._hurry.cancel()
            self._hurry = None


def cautious(silent: Silent, head_s: float = HEAD_S) -> type[Cautious]:
    """Such connections, counted together."""
    return type("Counted", (Cautious,), {"silent": silent, "head_s": head_s})


def _text_head(size: int) -> bytes:
    """What stands before a whole text message of a server that agreed on no extension (RFC 6455, 5.2)."""
    if size < 126:
        return bytes((0x81, size))
    return b"\x81\x7e" + size.to_bytes(2) if size < 1 << 16 else b"\x81\x7f" + size.to_bytes(8)


class Widening(WebSocketsSansIOProtocol):
    """Takes small messages until its client has been let in."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.conn.max_message_size = MAX_BEFORE_HELLO

    async def run_asgi(self) -> None:
        self.scope["state"].update({LET_IN: self._let_in, TAKE: self._take})
        await super().run_asgi()
        # Who does not read would never let the last of it go.
        self.loop.call_later(LINGER_S, self.transport.abort)

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            # A refusal is the whole answer: the library would report that there was none.
            self.handshake_complete = True

    def _take(self, texts: Sequence[bytes]) -> bool:
        """Send texts at once, as `send` would, unless they have to wait or there is nobody to send them to."""
        open_now = self.conn.state is State.OPEN and not (self.close_sent or self.transport.is_closing())
        if not open_now or not self.writable.is_set():
            return False
        self.transport.write(b"".join([part for text in texts for part in (_text_head(len(text)), text)]))
        return True

    def _let_in(self) -> None:
        self.conn.max_message_size = MAX_PAYLOAD
