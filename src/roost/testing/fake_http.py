"""An HTTP server on this machine, over real sockets, that answers what it was told to.

It knows no wire format: `roost.testing.fake_openai` and its neighbours write replies in theirs.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias, assert_never

from roost.core.jsonvalue import JsonObject, JsonValue, compact
from roost.core.models import FailureKind
from roost.testing.scripts import CallTool, Fail, Hang, Say, Script, Spend, Stop, Think, Until


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is dropped here."""


Piece: TypeAlias = bytes | Until | Hang | Cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One HTTP answer; each piece of bytes is a chunk of its own."""

    pieces: tuple[Piece, ...] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: JsonObject


def event(data: JsonValue, name: str | None = None) -> bytes:
    """A server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {compact(data)}\n\n".encode()


def refusal_of(status: int, body: JsonObject, retry_after_ms: int | None = None) -> Reply:
    """An answer that is an error, in the words of its wire format."""
    headers = [("content-type", "application/json")]
    if retry_after_ms is not None:
        headers.append(("retry-after", f"{retry_after_ms / 1000:g}"))
    return Reply(status=status, headers=tuple(headers), pieces=(compact(body).encode(),))


def refused_at_once(script: Script) -> Fail | None:
    """The failure of a call of which nothing is said: an HTTP error."""
    first = script[0] if script else None
    return first if isinstance(first, Fail) else None


Said: TypeAlias = Say | Think | CallTool


class Writer(ABC):
    """A script as the pieces of an answer, in the words of a wire format."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []

    @abstractmethod
    def said(self, step: Said) -> None: ...

    @abstractmethod
    def failed(self, step: Fail) -> None:
        """What is written when a call goes wrong in the middle; the connection is dropped after it."""

    def write(self, script: Script) -> None:
        for step in script:
            match step:
                case Say() | Think() | CallTool():
                    self.said(step)
                case Until() | Hang():
                    self.pieces.append(step)
                case Fail(FailureKind.TRANSIENT):
                    self.pieces.append(Cut())
                case Fail():
                    self.failed(step)
                    self.pieces.append(Cut())
                case Spend() | Stop():
                    pass
                case _:
                    assert_never(step)


Replies: TypeAlias = Reply | Callable[[Asked], Reply]


class FakeEndpoint:
    """Gives its replies in the order of the requests, then `otherwise`, which may look at what was asked.

    `requests` is what came in, `connections` how many were made in all, `open_calls` how many are not over.
    """

    def __init__(self, *replies: Reply, otherwise: Replies | None = None) -> None:
        self._replies = deque(replies)
        self._otherwise: Replies = otherwise or Reply(status=500, pieces=(b"there is no reply left",))
        self._handlers: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._changed = asyncio.Event()
        self.requests: list[Asked] = []
        self.connections = 0
        self.open_calls = 0

    def add(self, *replies: Reply) -> None:
        self._replies.extend(replies)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        assert self._server is not None, "the server is not running"
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def asked(self, count: int) -> None:
        """Return once that many requests came in."""
        while len(self.requests) < count:
            await self._changed.wait()

    async def left(self) -> None:
        """Return once no call is open: each is answered, or its caller hung up."""
        while self.open_calls:
            await self._changed.wait()

    def _count(self, change: int) -> None:
        self.open_calls += change
        self._changed.set()
        self._changed = asyncio.Event()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handler = asyncio.current_task()
        assert handler is not None
        self._handlers.add(handler)
        handler.add_done_callback(self._handlers.discard)
        self.connections += 1
        try:
            # Cancelled only when the server ends, and asyncio would report that as an error.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._call(reader, writer):
                    pass
        finally:
            writer.transport.abort()

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection can be used again."""
        asked = await _read_request(reader)
        reply = self._replies.popleft() if self._replies else self._otherwise
        self.requests.append(asked)
        self._count(1)
        try:
            return await _answer(reply(asked) if callable(reply) else reply, reader, writer)
        finally:
            self._count(-1)


async def _read_request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(path=first.split(" ")[1], headers=headers, body=json.loads(body or b"{}"))


async def _answer(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    lines = [f"HTTP/1.1 {reply.status} Status", "transfer-encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    writer.write("\r\n".join([*lines, "\r\n"]).encode())
    for piece in reply.pieces:
        match piece:
            case bytes():
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            case Until(event):
                await writer.drain()
                await event.wait()
            case Hang():
                await writer.drain()
                return bool(await reader.read(1))
            case Cut():
                writer.close()
                await writer.wait_closed()
                return False
            case _:
                assert_never(piece)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
