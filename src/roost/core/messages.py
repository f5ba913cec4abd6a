"""What is said in a transcript: messages, their blocks, and where each came from.

Values only. How a message is written to JSON is `core.jsonl`; how a list of them becomes a prompt is
`core.transcript`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, count
from typing import NamedTuple, TypeAlias

from roost.core.jsonvalue import JsonObject
from roost.core.principals import OWNER, Principal


class ProvenanceKind(StrEnum):
    """What caused a user-role entry. `HUMAN` is written only for an authenticated human event."""

    HUMAN = "human"
    INTER_SESSION = "inter_session"
    SUBAGENT = "subagent"
    SCHEDULE = "schedule"
    HOOK = "hook"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who and what is behind an entry; session keys are in their stored form. Where several people speak in one entry,
    they are its `voices`, and its principal is the agent."""

    kind: ProvenanceKind
    principal: Principal = OWNER
    source_session: str | None = None
    source_channel: str | None = None
    source_tool: str | None = None
    voices: tuple[Principal, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """A model's reasoning; `signature` lets its provider accept it again."""

    thinking: str
    signature: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """Inline image data, base64."""

    mime: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    id: str
    name: str
    arguments: JsonObject


UserBlock: TypeAlias = Text | Image
AssistantBlock: TypeAlias = Text | Thinking | ToolCall


class Usage(NamedTuple):
    """Tokens of one model call, as the provider counted them; cost in millionths of a dollar."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0
    cost_micros: int = 0

    def plus(self, other: "Usage") -> "Usage":
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            total=self.total + other.total,
            cost_micros=self.cost_micros + other.cost_micros,
        )


UNCOUNTED = Usage()


class StopReason(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    TOOL_USE = "toolUse"
    ABORTED = "aborted"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    content: tuple[UserBlock, ...]
    at: int
    provenance: Provenance
    sender: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    content: tuple[AssistantBlock, ...]
    at: int
    provider: str = ""
    model: str = ""
    api: str = ""
    usage: Usage = UNCOUNTED
    stop: StopReason = StopReason.STOP
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The one answer to one tool call; `details` never reaches a model."""

    call_id: str
    tool: str
    content: tuple[UserBlock, ...]
    at: int
    is_error: bool = False
    details: JsonObject | None = None


Message: TypeAlias = UserMessage | AssistantMessage | ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """Everything before `first_kept_id` is presented to the model as this summary."""

    summary: str
    first_kept_id: str | None
    tokens_before: int
    at: int
    tokens_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A line kept in the timeline that is not part of any prompt."""

    kind: str
    at: int
    data: JsonObject


Body: TypeAlias = Message | Compaction | Notice


def lone_text(message: Message) -> str | None:
    """The text of a message that is one text and nothing else, as nearly every one is."""
    content = message.content
    return content[0].text if len(content) == 1 and isinstance(content[0], Text) else None


def text_of(message: Message) -> str:
    """The visible text of a message, blocks joined by line breaks."""
    alone = lone_text(message)
    if alone is not None:
        return alone
    return "\n".join(block.text for block in message.content if isinstance(block, Text))


def tool_calls(message: Body) -> tuple[ToolCall, ...]:
    """The tool calls a message makes, in order."""
    if not isinstance(message, AssistantMessage) or lone_text(message) is not None:
        return ()
    return tuple(block for block in message.content if isinstance(block, ToolCall))


def with_new_calls(answer: AssistantMessage, earlier: Iterable[Body]) -> AssistantMessage:
    """An answer whose calls have ids that no earlier call has: some models give every answer's first the same."""
    if not tool_calls(answer):
        return answer
    taken = {call.id for body in earlier for call in tool_calls(body)}

    def renamed(call: ToolCall) -> ToolCall:
        names = chain((call.id,), (f"{call.id}_{number}" for number in count(2)))
        free = next(name for name in names if name not in taken)
        taken.add(free)
        return replace(call, id=free)

    content = (renamed(block) if isinstance(block, ToolCall) else block for block in answer.content)
    return replace(answer, content=tuple(content))
