"""Every model of one endpoint whose wire format the model library speaks."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import httpx2
from pydantic_ai.models import Model as LibraryModel
from pydantic_ai.models import StreamedResponse
from pydantic_ai.settings import ModelSettings, merge_model_settings

from roost.core.models import Finished, ModelEvent, ModelRequest
from roost.models.endpoints import Endpoint
from roost.models.failures import transient
from roost.models.library.answers import Pieces, whole
from roost.models.library.failing import failures
from roost.models.library.prompts import library_messages, parameters, settings
from roost.models.library.traffic import MARK, Traffic
from roost.ports import Clock

Named: TypeAlias = Callable[[str], LibraryModel]
"""The library's model of a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """A wire format: its name, where its provider is, the header a key is shown in, how the library is made to
    speak it, and what is asked besides what every format is."""

    api: str
    base_url: str
    key_header: str
    connect: Callable[[Endpoint, httpx2.AsyncClient], Named]
    extras: ModelSettings


class HostedModel:
    """Holds its connections until `aclose`."""

    def __init__(self, endpoint: Endpoint, clock: Clock, wire: Wire) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._wire = wire
        self._traffic = Traffic(endpoint, wire.key_header)
        self._named = wire.connect(endpoint, self._traffic.client)

    async def aclose(self) -> None:
        await self._traffic.client.aclose()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        model = self._named(request.spec.ref.model)
        async with self._traffic.call() as mark, AsyncExitStack() as stack:
            headers = ModelSettings(extra_headers={MARK: mark})
            asked = merge_model_settings(settings(request), {**self._wire.extras, **headers})
            opening = model.request_stream(
                library_messages(request, model.system), asked, parameters(request)
            )
            with failures(self._endpoint, self._clock.now()):
                streamed = await stack.enter_async_context(opening)
            yield await stack.enter_async_context(aclosing(self._events(streamed, request)))

    async def _events(
        self, streamed: StreamedResponse, request: ModelRequest
    ) -> AsyncGenerator[ModelEvent, None]:
        pieces = Pieces()
        with failures(self._endpoint, self._clock.now()):
            async for event in streamed:
                for piece in pieces.take(event):
                    yield piece
        response = streamed.get()
        if response.finish_reason is None:
            raise transient(f"{self._endpoint.provider} ended its answer in the middle")
        for piece in pieces.end():
            yield piece
        yield Finished(whole(response, request.spec, self._wire.api, self._clock.now()))
