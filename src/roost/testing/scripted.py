"""A model that does what it was told, call by call."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias, assert_never

import anyio
import anyio.lowlevel

from roost.core.messages import AssistantMessage
from roost.core.models import (
    FailureKind,
    Finished,
    ModelEvent,
    ModelFailed,
    ModelRequest,
    NeverSent,
    TextDelta,
    ThinkingDelta,
    ToolCallBegun,
)
from roost.ports import Clock
from roost.testing.clock import FakeClock
from roost.testing.scripts import (
    CallTool,
    Fail,
    Hang,
    Say,
    Script,
    Spend,
    Step,
    Stop,
    Think,
    Until,
    content_of,
    stop_of,
    usage_of,
)

API = "scripted"
Answer: TypeAlias = Script | Callable[[ModelRequest], Script]


class ScriptedModel:
    """Gives its answers in the order of the calls, then `otherwise`, if there is one.

    `requests` is what it was asked; `open_calls` how many streams are not left yet.
    """

    def __init__(self, *answers: Answer, otherwise: Answer | None = None, clock: Clock | None = None) -> None:
        self._answers = deque(answers)
        self.otherwise = otherwise
        self._clock = clock or FakeClock()
        self._changed = anyio.Event()
        self.requests: list[ModelRequest] = []
        self.open_calls = 0

    def add(self, *answers: Answer) -> None:
        self._answers.extend(answers)

    async def asked(self, count: int) -> None:
        """Return once that many calls were made in all."""
        while len(self.requests) < count:
            await self._changed.wait()

    async def left(self) -> None:
        """Return once no call is open."""
        while self.open_calls:
            await self._changed.wait()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        self.requests.append(request)
        script = self._script(request)
        self._count(1)
        try:
            async with aclosing(self._events(request, script)) as events:
                yield events
        finally:
            self._count(-1)

    def _script(self, request: ModelRequest) -> Script:
        answer = self._answers.popleft() if self._answers else self.otherwise
        if answer is None:
            raise ModelFailed(f"there is no script for call {len(self.requests)}", kind=FailureKind.PERMANENT)
        return answer(request) if callable(answer) else answer

    def _count(self, change: int) -> None:
        self.open_calls += change
        self._changed.set()
        self._changed = anyio.Event()

    async def _events(self, request: ModelRequest, script: Script) -> AsyncGenerator[ModelEvent, None]:
        for step in script:
            await anyio.lowlevel.checkpoint()
            event = await _act(step)
            if event is not None:
                yield event
        ref = request.spec.ref
        yield Finished(
            AssistantMessage(
                content=content_of(script),
                at=self._clock.now(),
                provider=ref.provider,
                model=ref.model,
                api=API,
                usage=usage_of(script),
                stop=stop_of(script),
            )
        )


async def _act(step: Step) -> ModelEvent | None:
    match step:
        case Say(text):
            return TextDelta(text)
        case Think(text):
            return ThinkingDelta(text)
        case CallTool(call):
            return ToolCallBegun(id=call.id, name=call.name)
        case Until(event):
            await event.wait()
        case Hang():
            await anyio.sleep_forever()
        case Fail(kind, message, retry_after_ms, sent):
            failure = ModelFailed if sent else NeverSent
            raise failure(message, kind=kind, retry_after_ms=retry_after_ms)
        case Spend() | Stop():
            pass
        case _:
            assert_never(step)
    return None
