"""A model that tries again where trying again can help and nothing was said yet."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from random import random
from typing import NamedTuple

from roost.core.models import FailureKind, ModelEvent, ModelFailed, ModelRequest, NeverSent
from roost.ports import Clock, Model

ATTEMPTS = 3
FIRST_WAIT_MS = 500
LONGEST_WAIT_MS = 30_000
_PASSING = (FailureKind.TRANSIENT, FailureKind.RATE_LIMIT)


class Begun(NamedTuple):
    """An answer that has begun."""

    first: ModelEvent
    rest: AsyncIterator[ModelEvent]

    async def events(self) -> AsyncGenerator[ModelEvent, None]:
        yield self.first
        async for event in self.rest:
            yield event


async def begun(model: Model, request: ModelRequest, stack: AsyncExitStack) -> Begun:
    """An answer with its first event, which `stack` will leave; a call that fails before that is left at once."""
    async with AsyncExitStack() as trial:
        events = await trial.enter_async_context(model.stream(request))
        first = await anext(events)
        stack.push_async_exit(trial.pop_all())
        return Begun(first, events)


class RetryingModel:
    """Waits as long as the provider asks, else twice as long each time, spread so that callers part.

    A provider that asks for more than `LONGEST_WAIT_MS` has failed: another model may answer sooner.
    """

    def __init__(
        self, model: Model, clock: Clock, *, attempts: int = ATTEMPTS, chance: Callable[[], float] = random
    ) -> None:
        self._model = model
        self._clock = clock
        self._attempts = attempts
        self._chance = chance

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async with AsyncExitStack() as stack:
            begin = await self._begun(request, stack)
            yield await stack.enter_async_context(aclosing(begin.events()))

    async def _begun(self, request: ModelRequest, stack: AsyncExitStack) -> Begun:
        attempt, sent = 1, False
        while True:
            try:
                return await begun(self._model, request, stack)
            except ModelFailed as failed:
                wait = self._wait(failed, attempt)
                if failed.kind not in _PASSING or attempt >= self._attempts or wait > LONGEST_WAIT_MS:
                    if sent and isinstance(failed, NeverSent):
                        # An earlier attempt was, and may have cost something.
                        raise ModelFailed(failed.message, kind=failed.kind, hint=failed.hint) from failed
                    raise
                sent = sent or not isinstance(failed, NeverSent)
            await self._clock.sleep(wait)
            attempt += 1

    def _wait(self, failed: ModelFailed, attempt: int) -> int:
        backoff = FIRST_WAIT_MS << (attempt - 1)
        least = failed.retry_after_ms if failed.retry_after_ms is not None else backoff // 2
        return least + round(backoff // 2 * self._chance())
