"""Endpoints that speak OpenAI's chat completions, over HTTP."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress

import anyio

from roost.core.models import ModelEvent, ModelFailed, ModelRequest
from roost.models.endpoints import Endpoint
from roost.models.failures import broken_off, refusal, transient
from roost.models.openai_answer import Answer, ErrorChunk, Events, MalformedChunk
from roost.models.openai_wire import Dialect, dialect_of, request_body
from roost.models.posts import Posts, Reply
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
        self._posts = Posts(endpoint, "/chat/completions")
        self._dialect = dialect or dialect_of(endpoint.base_url)

    async def aclose(self) -> None:
        await self._posts.aclose()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        body = request_body(request, self._dialect, self._endpoint.params)
        async with self._posts.post(body, self._headers()) as reply:
            if reply.status // 100 != 2:
                raise await self._refusal(reply)
            async with aclosing(self._events(reply, Answer(request.spec))) as events:
                yield events

    def _headers(self) -> dict[str, str]:
        return {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            **self._endpoint.sent_headers("authorization"),
        }

    async def _refusal(self, reply: Reply) -> ModelFailed:
        body = b""
        with suppress(ModelFailed):
            async for read in reply:
                body += read
                if len(body) > _ERROR_BYTES:
                    break
        return refusal(
            self._endpoint.provider,
            reply.status,
            reply.headers,
            body,
            now=self._clock.now(),
            secrets=self._endpoint.secrets,
        )

    async def _events(self, reply: Reply, answer: Answer) -> AsyncGenerator[ModelEvent, None]:
        with self._failures():
            try:
                async for events in _read(reply, answer, streams=_is_stream(reply)):
                    for event in events:
                        yield event
                with anyio.move_on_after(_MARK_SECONDS):
                    async for _ in reply:
                        pass
            except ModelFailed:
                # An answer that is whole loses nothing by the way its connection ends.
                if not answer.whole:
                    raise
        if not answer.whole:
            raise transient(f"{self._endpoint.provider} ended its answer in the middle")
        for event in answer.finish(self._clock.now()):
            yield event

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """What is wrong with an answer, as failures of the call."""
        provider = self._endpoint.provider
        try:
            yield
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


def _is_stream(reply: Reply) -> bool:
    return "application/json" not in reply.headers.get("content-type", "")
