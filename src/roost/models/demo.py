"""The built-in model: deterministic, offline, and no language model.

It answers about Roost, and uses the session tools on plain requests, so that everything can be tried without a
key.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from itertools import takewhile
from typing import assert_never

import anyio.lowlevel

from roost.core.children import ANNOUNCE_PROMPT
from roost.core.counting import estimated
from roost.core.marking import END
from roost.core.messages import (
    AssistantMessage,
    ProvenanceKind,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
)
from roost.core.models import (
    Finished,
    ModelEvent,
    ModelRef,
    ModelRequest,
    ModelSpec,
    Prices,
    TextDelta,
    ToolCallBegun,
)
from roost.core.sentinels import Sentinel
from roost.models.demo_answers import NOT_A_MODEL, answer_to
from roost.models.demo_requests import wish_in
from roost.models.demo_results import summary_of
from roost.ports import Clock

API = "demo"
SPEC = ModelSpec(ref=ModelRef("demo", "demo"), context_window=128_000, max_tokens=4_000, prices=Prices())

_WORDS = re.compile(r"(?:\s*\S+\s*){1,4}")
_MARKED = re.compile(rf"\A[^\n]* isUser=false\n[^\n]*\n(?P<text>.*?)\n?{re.escape(END)}\s*\Z", re.DOTALL)
_SENDER = re.compile(r"\A\[Sender: [^\]]*\]\n")
_TASK = re.compile(r"\[Subagent Task\]\n(?P<task>.*?)\n\nBegin now;", re.DOTALL)
_COUNT = re.compile(r"\bcount\s+(?:up\s+)?to\s+(?P<last>\d{1,3})\b", re.IGNORECASE)
_FIRST_STEP = "Agent-to-agent message."
_SILENT_STEPS = (
    ("Agent-to-agent reply step.", Sentinel.REPLY_SKIP),
    ("Agent-to-agent announce step.", Sentinel.ANNOUNCE_SKIP),
)


class DemoModel:
    """Answers from what it is asked alone: the same request, the same answer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async with aclosing(self._events(request)) as events:
            yield events

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        message = reply_to(request, self._clock.now())
        for words in _WORDS.findall(text_of(message)):
            await anyio.lowlevel.checkpoint()
            yield TextDelta(words)
        for block in message.content:
            if isinstance(block, ToolCall):
                yield ToolCallBegun(id=block.id, name=block.name)
        yield Finished(message)


def reply_to(request: ModelRequest, at: int) -> AssistantMessage:
    """The whole answer."""
    last = request.messages[-1]
    content: tuple[Text | ToolCall, ...]
    match last:
        case ToolResult():
            results = takewhile(lambda message: isinstance(message, ToolResult), reversed(request.messages))
            summaries = [summary_of(result) for result in results if isinstance(result, ToolResult)]
            content = (Text("\n\n".join(reversed(summaries))),)
        case UserMessage():
            content = _heard(request, last)
        case AssistantMessage():
            content = (Text(NOT_A_MODEL),)
        case _:
            assert_never(last)
    ref = request.spec.ref
    calling = any(isinstance(block, ToolCall) for block in content)
    answer = AssistantMessage(
        content=content,
        at=at,
        provider=ref.provider,
        model=ref.model,
        api=API,
        stop=StopReason.TOOL_USE if calling else StopReason.STOP,
    )
    return replace(answer, usage=estimated(request, answer))


def _heard(request: ModelRequest, last: UserMessage) -> tuple[Text | ToolCall, ...]:
    silence = _silence(last)
    if silence:
        return (Text(silence),)
    before = request.messages[-2] if len(request.messages) > 1 else None
    if ANNOUNCE_PROMPT in text_of(last) and isinstance(before, AssistantMessage):
        return (Text(text_of(before)),)
    if text_of(last).startswith(_FIRST_STEP) and isinstance(before, UserMessage):
        last = before
    text = _plain(text_of(last))
    if last.provenance.kind is ProvenanceKind.SUBAGENT and not _TASK.search(text_of(last)):
        return (Text(f"A helper reports:\n{text}"),)
    wish = wish_in(text)
    if wish is None:
        return (Text(_counted(text) or answer_to(text)),)
    if wish.tool not in {tool.name for tool in request.tools}:
        return (
            Text(f"I would use {wish.tool} for that, but this session does not have it. ({NOT_A_MODEL})"),
        )
    call = ToolCall(id=f"demo_{len(request.messages)}", name=wish.tool, arguments=wish.arguments)
    return (Text(f"Let me use {wish.tool}."), call)


def _silence(last: UserMessage) -> Sentinel | None:
    """The word for having nothing to add, where the gateway asks for one."""
    if last.provenance.kind is ProvenanceKind.HUMAN:
        return None
    asked = text_of(last)
    if last.provenance.kind is ProvenanceKind.SYSTEM:
        for step, word in _SILENT_STEPS:
            if asked.startswith(step):
                return word
    return next((word for word in (Sentinel.HEARTBEAT_OK, Sentinel.NO_REPLY) if word in asked), None)


def _plain(text: str) -> str:
    """What was said, without the marks around it."""
    marked = _MARKED.match(text)
    bare = marked["text"] if marked else _SENDER.sub("", text)
    task = _TASK.search(bare)
    return (task["task"] if task else bare).strip()


def _counted(text: str) -> str | None:
    found = _COUNT.search(text)
    return ", ".join(str(number) for number in range(1, int(found["last"]) + 1)) if found else None
