"""Bodies that must be read before it is known who sends them. Few are held at a time, over all connections; the one that
has taken longest makes room for who comes."""

import anyio
from starlette.requests import Request

from roost.server.callers import Callers
from roost.server.http.offers import AWAY
from roost.server.http.pages import Turned, read_body

MOST, MOST_BYTES = 256, 16 << 20


class Unread:
    def __init__(self) -> None:
        self._reading: dict[anyio.CancelScope, None] = {}

    def __len__(self) -> int:
        return len(self._reading)

    async def read(self, request: Request, most: int, callers: Callers) -> bytes:
        """A body of so many bytes at most. Raises `Turned` for one that had to make room."""
        while len(self._reading) >= max(1, min(MOST, MOST_BYTES // most)):
            longest = next(iter(self._reading))
            del self._reading[longest]
            longest.cancel()
        with anyio.CancelScope() as scope:
            self._reading[scope] = None
            try:
                return await read_body(request, most, callers)
            finally:
                self._reading.pop(scope, None)
        raise Turned(AWAY, "too many bodies are being read; send it again", "unavailable", retry_ms=1_000)
