"""What goes to a WebSocket without waiting: only as long as it is read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from websockets.asyncio.client import ClientConnection, connect

from roost.server.clients import Take
from roost.server.listening import Listener, bind
from roost.server.transports import TAKE, Widening

PIECE = b"x" * 10_000


@asynccontextmanager
async def _client_of(application: ASGIApp) -> AsyncIterator[ClientConnection]:
    listening = bind("127.0.0.1", 0)
    config = uvicorn.Config(
        application, ws=Widening, ws_per_message_deflate=False, lifespan="off", log_config=None
    )
    server = Listener(config)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listening])
            while not server.started:
                await anyio.lowlevel.checkpoint()
            async with connect(f"ws://127.0.0.1:{listening.getsockname()[1]}", max_size=None) as client:
                yield client
            server.should_exit = True
    listening.close()


async def test_texts_of_every_size_arrive_whole_and_in_their_order() -> None:
    texts = [b"x" * size for size in (0, 1, 125, 126, 65_535, 65_536, 70_000)]

    async def tell(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})
        assert scope["state"][TAKE](texts)
        await send({"type": "websocket.close"})

    async with _client_of(tell) as client:
        assert [str(message).encode() async for message in client] == texts


async def test_what_a_client_does_not_read_is_not_taken_without_end() -> None:
    takes, full, again = list[Take](), anyio.Event(), anyio.Event()

    async def fill(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})
        take: Take = scope["state"][TAKE]
        takes.append(take)
        count = 0
        while take((PIECE, PIECE)):
            count += 2
            await anyio.lowlevel.checkpoint()
        full.set()
        await again.wait()
        # Read to the end by now: `send` would not wait, so neither does this.
        await send({"type": "websocket.send", "text": "last"})
        assert take((b"%d" % count,))
        await send({"type": "websocket.close"})
        assert not take((b"too late",))
        takes.clear()

    async with _client_of(fill) as client:
        await full.wait()
        again.set()
        got = [message async for message in client]
    assert got[-2:] == ["last", str(len(got) - 2)]
    assert set(got[:-2]) == {PIECE.decode()}
    assert not takes
