"""Endpoints that speak OpenAI's chat completions, over HTTP."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress

import anyio
import httpx2

from roost.core.models import FailureKind, ModelEvent, ModelFailed, ModelRequest
from roost.models.endpoints import Endpoint
from roost.models.failures import broken_off, refusal, transient, unreachable
from roost.models.openai_answer import Answer, ErrorChunk, Events, MalformedChunk
from roost.models.openai_wire import Dialect, dialect_of, request_body
from roost.models.sse import EventReader, EventTooLong
from roost.ports import Clock

BASE_URL = "https://api.openai.com/v1"

# After its last event a stream lacks only the mark of its end; with it the connection can be used again.
_MARK_SECONDS = 0.05
_CLOSE_SECONDS = 2
_ERROR_BYTES = 64 * 1024


class OpenAIModel:
    """Every model of one endpoint. Holds its connections until `aclose`."""

    def __init__(self, endpoint: Endpoint, clock: Clock, dialect: Dialect | None = None) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._url = endpoint.address("/chat/completions")
        self._dialect = dialect or dialect_of(endpoint.base_url)
        self._client = endpoint.client()

    async def aclose(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        body = request_body(request, self._dialect, self._endpoint.params)
        with self._failures():
            asked = self._client.build_request("POST", self._url, content=body, headers=self._headers())
            response = await self._client.send(asked, stream=True)
        try:
            if not response.is_success:
                raise await self._refusal(response)
            async with aclosing(self._events(response, Answer(request.spec))) as events:
                yield events
        finally:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await response.aclose()

    def _headers(self) -> dict[str, str]:
        return {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            **self._endpoint.sent_headers("authorization"),
        }

    async def _refusal(self, response: httpx2.Response) -> ModelFailed:
        body = b""
        with suppress(httpx2.RequestError):
            async with aclosing(response.aiter_bytes()) as reads:
                async for read in reads:
                    body += read
                    if len(body) > _ERROR_BYTES:
                        break
        return refusal(
            self._endpoint.provider,
            response.status_code,
            response.headers,
            body,
            now=self._clock.now(),
            secrets=self._endpoint.secrets,
        )

    async def _events(self, response: httpx2.Response, answer: Answer) -> AsyncGenerator[ModelEvent, None]:
        encoded = "content-encoding" in response.headers
        reads = response.aiter_bytes() if encoded else response.aiter_raw()
        with self._failures():
            async with aclosing(reads):
                try:
                    async for events in _read(reads, answer, streams=_is_stream(response)):
                        for event in events:
                            yield event
                    with anyio.move_on_after(_MARK_SECONDS):
                        async for _ in reads:
                            pass
                except httpx2.RequestError:
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
        except httpx2.ConnectTimeout as error:
            raise unreachable(provider, f"no connection in {self._endpoint.connect_ms} ms") from error
        except httpx2.ConnectError as error:
            raise unreachable(provider, str(error)) from error
        except httpx2.TimeoutException as error:
            raise transient(f"{provider} sent nothing for {self._endpoint.idle_ms} ms") from error
        except (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol) as error:
            raise ModelFailed(
                f"the call to {provider} could not be written ({type(error).__name__})",
                kind=FailureKind.PERMANENT,
                hint="check the provider's baseUrl and headers",
            ) from None
        except httpx2.RequestError as error:
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


def _is_stream(response: httpx2.Response) -> bool:
    return "application/json" not in response.headers.get("content-type", "")
