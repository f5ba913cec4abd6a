"""What goes to a WebSocket without waiting: only as long as it is read."""

import anyio
import anyio.lowlevel
import uvicorn
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import connect

from roost.server.clients import Take
from roost.server.listening import Listener, bind
from roost.server.transports import TAKE, Widening

PIECE = b"x" * 10_000


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

    listening = bind("127.0.0.1", 0)
    config = uvicorn.Config(fill, ws=Widening, ws_per_message_deflate=False, lifespan="off", log_config=None)
    server = Listener(config)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listening])
            while not server.started:
                await anyio.lowlevel.checkpoint()
            async with connect(f"ws://127.0.0.1:{listening.getsockname()[1]}", max_size=None) as client:
                await full.wait()
                again.set()
                got = [message async for message in client]
            server.should_exit = True
    listening.close()
    assert got[-2:] == ["last", str(len(got) - 2)]
    assert set(got[:-2]) == {PIECE.decode()}
    assert not takes
