"""Connections that were answered once and then say nothing that counts: none is held open for good."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.lowlevel
import pytest
import uvicorn
from anyio.abc import ByteStream
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from roost.server.listening import Listener, bind
from roost.server.transports import Silent, cautious

SHORT_S = 0.3
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nthe first of it"


@dataclass
class Port:
    silent: Silent
    call: Callable[[], Awaitable[ByteStream]]


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads no body."""
    await Response("done")(scope, receive, send)


@asynccontextmanager
async def port() -> AsyncIterator[Port]:
    silent, listening = Silent(), bind("127.0.0.1", 0)
    config = uvicorn.Config(
        _answer, http=cautious(silent, SHORT_S), lifespan="off", log_config=None, timeout_keep_alive=60
    )
    server = Listener(config)

    async def call() -> ByteStream:
        return await anyio.connect_tcp("127.0.0.1", listening.getsockname()[1])

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listening])
            while not server.started:
                await anyio.lowlevel.checkpoint()
            yield Port(silent, call)
            server.should_exit = True
    listening.close()


async def _until(stream: ByteStream, end: bytes) -> bytes:
    found = b""
    while not found.endswith(end):
        found += await stream.receive()
    return found


async def _send_on(stream: ByteStream) -> None:
    while True:
        await stream.send(b"more of it")
        await anyio.lowlevel.checkpoint()


async def _ends(stream: ByteStream) -> None:
    with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
        await _until(stream, b"never said")


@pytest.mark.requirement("S23")
@pytest.mark.parametrize("stray", [b"", b"\r\n", b"GET / HTTP/1.1\r\nHost:"])
async def test_after_an_answer_the_next_head_must_come_in_time(stray: bytes) -> None:
    async with port() as at, await at.call() as stream:
        for _ in range(2):
            await stream.send(GET)
            await _until(stream, b"done")
            assert len(at.silent) == 1
        await stream.send(stray or b"\r\n\r\n")
        await _ends(stream)
        assert len(at.silent) == 0


@pytest.mark.requirement("S23")
async def test_a_body_that_nobody_read_ends_the_connection_behind_the_answer() -> None:
    async with port() as at, await at.call() as stream:
        await stream.send(POST)
        assert (await _until(stream, b"done")).startswith(b"HTTP/1.1 200")
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()
        with pytest.raises(anyio.BrokenResourceError):
            await _send_on(stream)
        assert len(at.silent) == 0


async def test_requests_that_wait_behind_one_another_are_all_answered() -> None:
    async with port() as at, await at.call() as stream:
        await stream.send(GET * 3)
        found = b""
        while found.count(b"done") < 3:
            found += await stream.receive()
        await _ends(stream)


class Slow(asyncio.Transport):
    """Has so much left to send."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left
        self.aborts = 0

    def get_write_buffer_size(self) -> int:
        return self.left

    def abort(self) -> None:
        self.aborts += 1


async def test_who_goes_on_reading_a_long_answer_is_not_cut_off() -> None:
    connection = cautious(Silent(), 60.0)(uvicorn.Config(_answer, log_config=None), ServerState(), {})
    transport = Slow(1_000)
    connection.connection_made(transport)
    transport.left = 500
    told = []
    for _ in range(2):
        connection._out_of_time()
        told.append(transport.aborts)
    assert told == [0, 1]
    connection.connection_lost(OSError())
