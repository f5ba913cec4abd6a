"""A model call: what is asked, what streams back, and how it can fail."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from roost.core.errors import RoostError
from roost.core.jsonvalue import JsonObject, compact
from roost.core.messages import AssistantMessage, Message, ToolCall

UNREADABLE_ARGUMENTS = "unreadable_arguments"


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model by its provider's name and its own; written `provider/model`."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """What is known of a model; without prices a call costs nothing that can be counted."""

    ref: ModelRef
    context_window: int
    max_tokens: int
    prices: Prices | None = None
    reasoning: bool = False
    images: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model is told of it; `parameters` is a JSON Schema object. `words` are all of it, as one text."""

    name: str
    description: str
    parameters: JsonObject
    words: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Here, as it is made once and counted with every call.
        object.__setattr__(self, "words", f"{self.name} {self.description} {compact(self.parameters)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call. `messages` are ready for any provider: paired, never empty."""

    spec: ModelSpec
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    thinking: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallBegun:
    """A call the model has begun to write; its arguments come with the finished message."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of a stream that did not fail: the whole answer with its usage."""

    message: AssistantMessage


ModelEvent: TypeAlias = TextDelta | ThinkingDelta | ToolCallBegun | Finished


class FailureKind(StrEnum):
    """What to do about a failed call: mend the key, wait, compact, try again, or give up."""

    AUTH = "auth"
    RATE_LIMIT = "rate_limit"
    OVERFLOW = "overflow"
    TRANSIENT = "transient"
    PERMANENT = "permanent"


class ModelFailed(RoostError):
    """A model call did not give an answer."""

    code = "model_failed"

    def __init__(
        self, message: str, *, kind: FailureKind, hint: str = "", retry_after_ms: int | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.retry_after_ms = retry_after_ms


class NeverSent(ModelFailed):
    """Nobody was there to be asked: the call cannot have cost anything."""


def unreadable_arguments(call: ToolCall) -> str | None:
    """What a model wrote where its arguments are no JSON object. Such a call is answered with an error, not run."""
    text = call.arguments.get(UNREADABLE_ARGUMENTS)
    return text if isinstance(text, str) and len(call.arguments) == 1 else None
