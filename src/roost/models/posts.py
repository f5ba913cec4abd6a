"""Requests to an endpoint of the owner's, and their answers read as they come.

What goes wrong on the way is a failure of the call. No text that could hold a header is quoted or kept.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from io import BytesIO

import aiohttp
from yarl import URL

from roost.egress import owners_session
from roost.models.endpoints import Endpoint
from roost.models.failures import transient, unreachable


class Posts:
    """Everything that is posted to one path of an endpoint. Holds its connections until `aclose`."""

    def __init__(self, endpoint: Endpoint, path: str) -> None:
        self._endpoint = endpoint
        self._address = endpoint.address(path)
        self._url = URL(str(self._address), encoded=True)

    @cached_property
    def _session(self) -> aiohttp.ClientSession:
        """Made by the first request: it belongs to the event loop."""
        endpoint = self._endpoint
        return owners_session(self._address, connect_ms=endpoint.connect_ms, idle_ms=endpoint.idle_ms)

    async def aclose(self) -> None:
        if "_session" in self.__dict__:
            await self._session.close()

    @asynccontextmanager
    async def post(self, body: bytes, headers: Mapping[str, str]) -> AsyncIterator["Reply"]:
        """The answer to a request. Whoever leaves before its end leaves its connection, at once."""
        # What stands in the address goes before what stands in a header; both are one too many for the library.
        sent = {name: text for name, text in headers.items() if name != "authorization" or not self._url.user}
        with self._failures():
            async with asyncio.timeout((self._endpoint.connect_ms + self._endpoint.idle_ms) / 1000):
                response = await self._session.post(
                    self._url, data=BytesIO(body), headers=sent, allow_redirects=False
                )
        try:
            yield Reply(self, response)
        finally:
            # Read to its end, it has none any more. A farewell would go on to be read for half a minute.
            if response.connection is not None and response.connection.transport is not None:
                response.connection.transport.abort()
            response.close()

    async def read(self, response: aiohttp.ClientResponse) -> bytes:
        """What has come of an answer, once something has; nothing at its end."""
        with self._failures():
            # The library's own limit is gone once it has read what is no part of an answer.
            async with asyncio.timeout(self._endpoint.idle_ms / 1000):
                return await response.content.readany()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        provider = self._endpoint.provider
        try:
            yield
        except aiohttp.ConnectionTimeoutError:
            raise unreachable(provider, f"no connection in {self._endpoint.connect_ms} ms") from None
        except aiohttp.ClientConnectorError as error:
            raise unreachable(provider, str(error)) from None
        except TimeoutError:
            raise transient(f"{provider} sent nothing for {self._endpoint.idle_ms} ms") from None
        except aiohttp.ClientError as error:
            raise transient(f"the connection to {provider} failed ({type(error).__name__})") from None


class Reply:
    """The head of an answer, and what comes of its body, until its end."""

    def __init__(self, posts: Posts, response: aiohttp.ClientResponse) -> None:
        self._posts = posts
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    def __aiter__(self) -> "Reply":
        return self

    async def __anext__(self) -> bytes:
        read = await self._posts.read(self._response)
        if not read:
            raise StopAsyncIteration
        return read
