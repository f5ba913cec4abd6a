"""What is put around an answer that is sent: the reasoning before it, figures below it. The transcript has neither."""

from enum import StrEnum
from typing import assert_never

from roost.core.figures import dollars, thousands
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


def framed(said: str, words: AssistantMessage | None, overrides: Overrides) -> str:
    """An answer as it is sent in a session with these settings."""
    if words is None:
        return said
    before = _reasoning(words) if overrides.reasoning in (Reasoning.ON, Reasoning.STREAM) else ""
    below = _figures(words, UsageLevel.parse(overrides.usage or "") or UsageLevel.OFF)
    return "\n\n".join(part for part in (before, said, below) if part)


def _reasoning(words: AssistantMessage) -> str:
    thoughts = [block.thinking.strip() for block in words.content if isinstance(block, Thinking)]
    text = "\n".join(thought for thought in thoughts if thought)
    return f"Reasoning:\n{text}" if text else ""


def _figures(words: AssistantMessage, level: UsageLevel) -> str:
    usage = words.usage
    match level:
        case UsageLevel.OFF:
            return ""
        case UsageLevel.TOKENS:
            return f"[{thousands(usage.input)} tokens in, {thousands(usage.output)} out]"
        case UsageLevel.FULL:
            figures = f"{thousands(usage.input)} tokens in, {thousands(usage.output)} out"
            return f"[{words.provider}/{words.model}: {figures}, {dollars(usage.cost_micros)}]"
        case _:
            assert_never(level)
