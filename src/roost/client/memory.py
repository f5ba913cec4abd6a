"""A connection within one process: two ends in memory, no socket between them."""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError)


Item = TypeVar("Item")


async def next_in(stream: MemoryObjectReceiveStream[Item]) -> Item:
    """What waits is taken without letting others go on first: as long as they do not, no more of it comes."""
    try:
        return stream.receive_nowait()
    except anyio.WouldBlock:
        return await stream.receive()


class _End:
    """What is sent here is received at the other end. Bounded by what the gateway lets one client wait for."""

    def __init__(
        self, into: MemoryObjectSendStream[str | bytes], out: MemoryObjectReceiveStream[str | bytes]
    ) -> None:
        self._into, self._out = into, out

    async def send(self, frame: bytes) -> None:
        # There is always room; others go on when there is nothing more to send.
        with suppress(*_GONE):
            self._into.send_nowait(frame)

    async def receive(self) -> str | bytes | None:
        try:
            return await next_in(self._out)
        except _GONE:
            return None

    def hang_up(self) -> None:
        """The other end receives what was sent, then the end."""
        self._into.close()

    def drop(self) -> None:
        self._into.close()
        self._out.close()


class NearEnd(_End):
    """The client's."""


class FarEnd(_End):
    """The gateway's."""

    def take(self, frames: Sequence[bytes]) -> bool:
        """Nothing at once: who sends to its own process lets it read."""
        return False

    async def close(self, code: int, reason: str) -> None:
        self.hang_up()


def ends() -> tuple[NearEnd, FarEnd]:
    """Both ends of a new connection."""
    to_gateway, from_client = anyio.create_memory_object_stream[str | bytes](math.inf)
    to_client, from_gateway = anyio.create_memory_object_stream[str | bytes](math.inf)
    return NearEnd(to_gateway, from_gateway), FarEnd(to_client, from_client)
