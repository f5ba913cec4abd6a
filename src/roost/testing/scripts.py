"""What a model is told to do in one call, step by step.

A call that neither fails nor hangs ends by itself after its last step. `roost.testing.scripted` acts it out in
process, `roost.testing.fake_openai` over HTTP.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio

from roost.core.messages import AssistantBlock, StopReason, Text, Thinking, ToolCall, Usage
from roost.core.models import FailureKind


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Think:
    text: str


@dataclass(frozen=True, slots=True)
class CallTool:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Spend:
    """What the call costs; the last one counts."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Until:
    """Nothing more until the event is set."""

    event: anyio.Event


@dataclass(frozen=True, slots=True)
class Hang:
    """Nothing more until the caller leaves."""


@dataclass(frozen=True, slots=True)
class Fail:
    """A failure; one that was not `sent` has nobody to blame."""

    kind: FailureKind
    message: str = "as scripted"
    retry_after_ms: int | None = None
    sent: bool = True


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the answer ends where it does, if not because all is said."""

    reason: StopReason = field(default=StopReason.LENGTH)


Step: TypeAlias = Say | Think | CallTool | Spend | Until | Hang | Fail | Stop
Script: TypeAlias = Sequence[Step]


def says(text: str, *, usage: Usage | None = None) -> Script:
    """A text, word by word."""
    words = text.split(" ")
    pieces = [*(f"{word} " for word in words[:-1]), words[-1]]
    return [*map(Say, filter(None, pieces)), *([Spend(usage)] if usage else [])]


def calls(*tools: ToolCall) -> Script:
    return [CallTool(call) for call in tools]


def content_of(script: Script) -> tuple[AssistantBlock, ...]:
    """What the finished message holds: thinking, text, calls."""
    thinking = "".join(step.text for step in script if isinstance(step, Think))
    text = "".join(step.text for step in script if isinstance(step, Say))
    return (
        *([Thinking(thinking=thinking)] if thinking else []),
        *([Text(text)] if text else []),
        *(step.call for step in script if isinstance(step, CallTool)),
    )


def usage_of(script: Script) -> Usage:
    return next((step.usage for step in reversed(script) if isinstance(step, Spend)), Usage())


def stop_of(script: Script) -> StopReason:
    calling = any(isinstance(step, CallTool) for step in script)
    otherwise = StopReason.TOOL_USE if calling else StopReason.STOP
    return next((step.reason for step in script if isinstance(step, Stop)), otherwise)
