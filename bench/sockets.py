"""A WebSocket client that does as little as can be, so that it is not what is measured, and a bare server as a floor."""

import asyncio
import base64
import os
import struct
import sys
from collections.abc import Callable

import orjson
import websockets
from websockets.asyncio.server import ServerConnection, serve

Hear = Callable[[bytes], None]
_HEAD_END = b"\r\n\r\n"
_TEXT, _PING, _PONG = 1, 9, 10


class Socket(asyncio.Protocol):
    """Text messages, each in one frame. What is sent is masked with zeroes, which costs nothing."""

    def __init__(self, host: str, hear: Hear) -> None:
        self._host = host
        self.hear = hear
        self._buffer = bytearray()
        self.open: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        key = base64.b64encode(os.urandom(16)).decode()
        transport.write(
            f"GET / HTTP/1.1\r\nHost: {self._host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self.open.done():
            end = self._buffer.find(_HEAD_END)
            if end < 0:
                return
            del self._buffer[: end + len(_HEAD_END)]
            self.open.set_result(None)
        while (frame := self._frame()) is not None:
            self.hear(frame)

    def _frame(self) -> bytes | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        length, start = buffer[1] & 0x7F, 2
        if length == 126:
            length, start = int.from_bytes(buffer[2:4]), 4
        elif length == 127:
            length, start = int.from_bytes(buffer[2:10]), 10
        if len(buffer) < start + length:
            return None
        kind, frame = buffer[0] & 0x0F, bytes(buffer[start : start + length])
        del buffer[: start + length]
        if kind == _PING:
            self.send(frame, _PONG)
        return frame if kind == _TEXT else self._frame()

    def send(self, data: bytes, kind: int = _TEXT) -> None:
        first, size = 0x80 | kind, len(data)
        head = (
            struct.pack(">BB", first, 0x80 | size) if size < 126 else struct.pack(">BBH", first, 0xFE, size)
        )
        self.transport.write(head + bytes(4) + data)


async def dial(port: int, hear: Hear) -> Socket:
    _, socket = await asyncio.get_running_loop().create_connection(
        lambda: Socket(f"127.0.0.1:{port}", hear), "127.0.0.1", port
    )
    await socket.open
    return socket


class Talker:
    """One connection that asks and waits. `told` hears what comes unasked."""

    def __init__(self) -> None:
        self._waiting: asyncio.Future[bytes] | None = None
        self.told: Hear = lambda frame: None

    async def dial(self, port: int) -> None:
        self.socket = await dial(port, self._hear)

    def _hear(self, frame: bytes) -> None:
        if frame.startswith(b'{"type":"event"') or self._waiting is None:
            self.told(frame)
        elif not self._waiting.done():
            self._waiting.set_result(frame)

    async def ask(self, data: bytes) -> bytes:
        self._waiting = asyncio.get_running_loop().create_future()
        self.socket.send(data)
        return await self._waiting

    async def call(self, method: str, **params: object) -> bytes:
        answer = await self.ask(orjson.dumps({"type": "req", "id": "1", "method": method, "params": params}))
        if b'"ok":true' not in answer[:200]:
            raise RuntimeError(answer.decode()[:500])
        return answer

    async def enter(self, port: int, token: str) -> None:
        await self.dial(port)
        await self.call(
            "connect",
            minProtocol=4,
            maxProtocol=4,
            client={"id": "gateway-client", "version": "1", "platform": "linux", "mode": "backend"},
            scopes=["operator.admin", "operator.read", "operator.write"],
            auth={"token": token},
        )


async def _bare() -> None:
    """Gives back what it is sent, or gives it to all who are connected if it begins with `*`."""
    everyone: set[ServerConnection] = set()

    async def answer(one: ServerConnection) -> None:
        everyone.add(one)
        async for message in one:
            if message[:1] == "*":
                websockets.broadcast(everyone, message)
            else:
                await one.send(message)

    async with serve(answer, "127.0.0.1", 0, compression=None, max_size=None, ping_interval=None) as server:
        sys.stdout.write(f"{next(iter(server.sockets)).getsockname()[1]}\n")
        sys.stdout.flush()
        await asyncio.Future()


if __name__ == "__main__":
    asyncio.run(_bare())
