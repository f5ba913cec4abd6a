"""The HTTP beneath the providers' own libraries: exactly the headers that are meant, and a call that can be ended.

Those libraries take headers from the environment, do not all close what they were reading when they are left, and
not all read lines as the wire has them.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

import anyio
import httpx2

from roost.models.endpoints import Endpoint

MARK = "x-roost-call"

_CLOSE_SECONDS = 2

_KEPT = (
    "host",
    "content-type",
    "content-length",
    "transfer-encoding",
    "accept",
    "connection",
    "anthropic-version",
    "anthropic-beta",
)
# Within JSON these are only ever parts of a text, and an escape means the same.
_LINE_ENDS = {b"\xe2\x80\xa8": rb"\u2028", b"\xe2\x80\xa9": rb"\u2029", b"\xc2\x85": rb"\u0085"}
_LINE_END = re.compile(b"|".join(_LINE_ENDS))
_HALF = re.compile(rb"(?:\xe2\x80?|\xc2)\Z")


class Traffic:
    """`client` is for the libraries; a request of theirs that carries a `MARK` ends with the call of that mark."""

    def __init__(self, endpoint: Endpoint, key_header: str) -> None:
        self._endpoint = endpoint
        self._key_header = key_header
        self._marks = count(1)
        self._open: dict[str, httpx2.Response] = {}
        self.client = endpoint.client()
        self.client.event_hooks = {"request": [self._dress], "response": [self._watch]}

    @asynccontextmanager
    async def call(self) -> AsyncIterator[str]:
        """The mark of one call, whose connection is not read on after it. A key that cannot be sent is refused."""
        self._endpoint.sent_headers(self._key_header)
        mark = str(next(self._marks))
        try:
            yield mark
        finally:
            response = self._open.pop(mark, None)
            if response is not None:
                with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                    await response.aclose()

    async def _dress(self, request: httpx2.Request) -> None:
        kept = {name: request.headers[name] for name in _KEPT if name in request.headers}
        request.extensions = {**request.extensions, MARK: request.headers.get(MARK, "")}
        sent = self._endpoint.sent_headers(self._key_header)
        request.headers = httpx2.Headers({**kept, "accept-encoding": "identity", **sent})

    async def _watch(self, response: httpx2.Response) -> None:
        self._open[response.request.extensions[MARK]] = response
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream) and "content-encoding" not in response.headers:
            response.stream = _Lines(stream)


class _Lines(httpx2.AsyncByteStream):
    """A stream in which nothing but a line end reads as one."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held = b""
        async for read in self._stream:
            piece = held + read
            found = _HALF.search(piece)
            held = found[0] if found else b""
            yield _LINE_END.sub(lambda match: _LINE_ENDS[match[0]], piece.removesuffix(held))
        if held:
            yield held

    async def aclose(self) -> None:
        await self._stream.aclose()
