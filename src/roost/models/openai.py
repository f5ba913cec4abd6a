"""Endpoints that speak OpenAI's chat completions, over HTTP."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, closing, contextmanager, suppress
from functools import cached_property
from io import BytesIO

import aiohttp
import anyio

from roost.core.models import ModelEvent, ModelFailed, ModelRequest
from roost.egress import owners_session
from roost.models.endpoints import Endpoint
from roost.models.failures import broken_off, refusal, transient, unreachable
from roost.models.openai_answer import Answer, ErrorChunk, Events, MalformedChunk
from roost.models.openai_wire import Dialect, dialect_of, request_body
from roost.models.sse import EventReader, EventTooLong
from roost.ports import Clock

# After its last event a stream lacks only the mark of its end; with it the connection can be used again.
_MARK_SECONDS = 0.05
_ERROR_BYTES = 64 * 1024


class OpenAIModel:
    """Every model of one endpoint. Holds its connections until `aclose`."""

    def __init__(self, endpoint: Endpoint, clock: Clock, dialect: Dialect | None = None) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._url = endpoint.address("/chat/completions")
        self._dialect = dialect or dialect_of(endpoint.base_url)

    @cached_property
    def _session(self) -> aiohttp.ClientSession:
        """Made by the first call: it belongs to the event loop."""
        endpoint = self._endpoint
        return owners_session(self._url, connect_ms=endpoint.connect_ms, idle_ms=endpoint.idle_ms)

    async def aclose(self) -> None:
        await self._session.close()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        body = request_body(request, self._dialect, self._endpoint.params)
        headers = self._headers()
        with self._failures():
            response = await self._session.post(
                str(self._url), data=BytesIO(body), headers=headers, allow_redirects=False
            )
        # The connection of an answer that was read to its end is in use by others then, and stays.
        with closing(response):
            if response.status // 100 != 2:
                raise await self._refusal(response)
            async with aclosing(self._events(response, Answer(request.spec))) as events:
                yield events

    def _headers(self) -> dict[str, str]:
        return {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            **self._endpoint.sent_headers("authorization"),
        }

    async def _refusal(self, response: aiohttp.ClientResponse) -> ModelFailed:
        body = b""
        with suppress(aiohttp.ClientError):
            async for read in response.content.iter_any():
                body += read
                if len(body) > _ERROR_BYTES:
                    break
        return refusal(
            self._endpoint.provider,
            response.status,
            response.headers,
            body,
            now=self._clock.now(),
            secrets=self._endpoint.secrets,
        )

    async def _events(
        self, response: aiohttp.ClientResponse, answer: Answer
    ) -> AsyncGenerator[ModelEvent, None]:
        reads = response.content.iter_any()
        with self._failures():
            try:
                async for events in _read(reads, answer, streams=_is_stream(response)):
                    for event in events:
                        yield event
                with anyio.move_on_after(_MARK_SECONDS):
                    async for _ in reads:
                        pass
            except aiohttp.ClientError:
                # An answer that is whole loses nothing by the way its connection ends.
                if not answer.whole:
                    raise
        if not answer.whole:
            raise transient(f"{self._endpoint.provider} ended its answer in the middle")
        for event in answer.finish(self._clock.now()):
            yield event

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """What goes wrong on the way, as failures of the call. No text that could hold a header is quoted."""
        provider = self._endpoint.provider
        try:
            yield
        except aiohttp.ConnectionTimeoutError as error:
            raise unreachable(provider, f"no connection in {self._endpoint.connect_ms} ms") from error
        except aiohttp.ClientConnectorError as error:
            raise unreachable(provider, str(error)) from error
        except aiohttp.ServerTimeoutError as error:
            raise transient(f"{provider} sent nothing for {self._endpoint.idle_ms} ms") from error
        except aiohttp.ClientError as error:
            raise transient(f"the connection to {provider} failed ({type(error).__name__})") from error
        except (MalformedChunk, EventTooLong) as error:
            raise transient(f"{provider} sent what is no part of an answer") from error
        except ErrorChunk as error:
            raise broken_off(provider, error.error, self._endpoint.secrets) from error


async def _read(reads: AsyncIterator[bytes], answer: Answer, *, streams: bool) -> AsyncIterator[Events]:
    """What each event adds, until the answer ends or its bytes do."""
    if not streams:
        yield answer.take(b"".join([read async for read in reads]))
        return
    reader = EventReader()
    async for read in reads:
        for data in reader.feed(read):
            yield answer.take(data)
            if answer.ended:
                return
    for data in reader.end():
        yield answer.take(data)


def _is_stream(response: aiohttp.ClientResponse) -> bool:
    return "application/json" not in response.headers.get("content-type", "")
