"""What is shown with an answer: the reasoning before it, figures below it. What is sent has both around its text; clients
are told them beside it."""

from enum import StrEnum
from typing import assert_never

from roost.core.figures import dollars, thousands
from roost.core.ledger import Counted
from roost.core.messages import AssistantMessage, Thinking
from roost.core.sessions import Overrides


class UsageLevel(StrEnum):
    OFF = "off"
    TOKENS = "tokens"
    FULL = "full"

    @classmethod
    def parse(cls, text: str) -> "UsageLevel | None":
        word = text.strip().lower()
        return cls.TOKENS if word == "on" else cls(word) if word in cls._value2member_map_ else None


class Reasoning(StrEnum):
    OFF = "off"
    ON = "on"
    STREAM = "stream"


def framed(said: str, words: AssistantMessage | None, took: Counted, overrides: Overrides) -> str:
    """An answer as it is sent in a session with these settings."""
    if words is None:
        return said
    thoughts, below = reasoning_of(words, overrides), _below(words, took, usage_level(overrides))
    before = f"Reasoning:\n{thoughts}" if thoughts else ""
    return "\n\n".join(part for part in (before, said, below) if part)


def reasoning_of(words: AssistantMessage, overrides: Overrides) -> str:
    """What was thought before an answer, where the session shows it."""
    if overrides.reasoning not in (Reasoning.ON, Reasoning.STREAM):
        return ""
    thoughts = [block.thinking.strip() for block in words.content if isinstance(block, Thinking)]
    return "\n".join(thought for thought in thoughts if thought)


def usage_level(overrides: Overrides) -> UsageLevel:
    return UsageLevel.parse(overrides.usage or "") or UsageLevel.OFF


def figures(took: Counted, model: str | None = None) -> str:
    """The line below an answer; with its model, what it cost too. What nobody counted is marked."""
    usage, about = took.usage, "~" if took.estimated else ""
    counted = f"{about}{thousands(usage.input)} tokens in, {about}{thousands(usage.output)} out"
    return f"[{counted}]" if model is None else f"[{model}: {counted}, {about}{dollars(usage.cost_micros)}]"


def _below(words: AssistantMessage, took: Counted, level: UsageLevel) -> str:
    match level:
        case UsageLevel.OFF:
            return ""
        case UsageLevel.TOKENS:
            return figures(took)
        case UsageLevel.FULL:
            return figures(took, f"{words.provider}/{words.model}")
        case _:
            assert_never(level)
