"""Work for a caller who may hang up, and answers that are written as they come about."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias, TypeVar

import anyio
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as Asgi

from roost.core.errors import RoostError
from roost.core.jsonvalue import JsonValue
from roost.protocol.frames import encode

T = TypeVar("T")

Emit: TypeAlias = Callable[[bytes], Awaitable[None]]

DONE = b"data: [DONE]\n\n"


def event(value: JsonValue) -> bytes:
    return b"data: %b\n\n" % encode(value)


async def while_there(receive: Receive, work: Callable[[], Awaitable[T]]) -> T:
    """Work as long as the caller is there; raises `ClientDisconnect` once it has gone."""
    done: list[T] = []
    refused: list[RoostError] = []
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            done.append(await work())
        except RoostError as error:
            refused.append(error)
        group.cancel_scope.cancel()
    if refused:
        raise refused[0]
    if not done:
        raise ClientDisconnect
    return done[0]


class EventStream(Response):
    """Server-sent events; whoever writes them is cancelled when the caller goes."""

    media_type = "text/event-stream"

    def __init__(self, write: Callable[[Emit], Awaitable[None]]) -> None:
        super().__init__(headers={"Cache-Control": "no-cache"})
        del self.headers["content-length"]
        self._write = write

    async def __call__(self, scope: Asgi, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

        async def emit(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        try:
            await while_there(receive, partial(self._write, emit))
        except ClientDisconnect:
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})
