"""A prompt as turns: neighbours of one role joined, results before what a user says after them.

Every provider wants this; how a turn is written is each adapter's own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolResult,
    UserBlock,
    text_of,
)

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
NOT_SHOWN = Text("[an image that cannot be shown]")
NO_IMAGES = Text("[an image: this model takes none]")


@dataclass(slots=True)
class Turn:
    """What a model said, or results and then what a user said."""

    said: list[AssistantBlock] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    heard: list[UserBlock] = field(default_factory=list)


def turns_of(messages: Iterable[Message]) -> list[Turn]:
    turns: list[Turn] = []
    turn: Turn | None = None
    for message in messages:
        joins = turn is not None and bool(turn.said) == isinstance(message, AssistantMessage)
        if turn is None or not joins:
            turn = Turn()
            turns.append(turn)
        if isinstance(message, AssistantMessage):
            turn.said += _accepted_again(message.content, opens=not joins)
        elif isinstance(message, ToolResult):
            turn.results.append(message)
        else:
            turn.heard += map(shown, message.content)
    return turns


def _accepted_again(content: Sequence[AssistantBlock], *, opens: bool) -> Sequence[AssistantBlock]:
    """The blocks; reasoning only where it opens a turn."""
    said = [block for block in content if not isinstance(block, Thinking)]
    if len(said) == len(content) or not opens:
        return said
    return [*takewhile(lambda block: isinstance(block, Thinking), content), *said]


def shown(block: UserBlock) -> UserBlock:
    """The block, or a note for an image that no provider takes."""
    unknown = isinstance(block, Image) and (block.mime not in IMAGE_TYPES or not block.data)
    return NOT_SHOWN if unknown else block


def result_images(result: ToolResult) -> list[UserBlock]:
    return [shown(block) for block in result.content if isinstance(block, Image)]


def result_text(result: ToolResult) -> str:
    return text_of(result) or f"[the result of {result.tool} is an image]"
