"""`agents.defaults.contextPruning` and `.compaction`: how a prompt is kept inside the model's window."""

from enum import StrEnum
from typing import Annotated

from roost.config.amounts import ByteSize, Duration
from roost.config.section import Section, about
from roost.config.spelling import Count, Flag, Positive, Size, Span, Text, Texts
from roost.core.compaction import IdentifierPolicy
from roost.core.thinking import ThinkingLevel


class PruningMode(StrEnum):
    OFF = "off"
    CACHE_TTL = "cache-ttl"


class PrunedTools(Section):
    allow: Annotated[Texts, about("Only results of these tools, by name or `*` pattern. Empty: of all.")] = ()
    deny: Annotated[Texts, about("Tools whose results are never pruned.")] = ()


class HardClear(Section):
    enabled: Annotated[Flag, about("Whether old results may be cleared whole.")] = True
    placeholder: Annotated[Text, about("What stands in their place.")] = "[Old tool result content cleared]"


class ContextPruning(Section):
    mode: Annotated[PruningMode, about("Whether old tool results are left out of prompts.")] = (
        PruningMode.CACHE_TTL
    )
    ttl: Annotated[Span, about("Time since the last model call before anything is pruned.")] = Duration.parse(
        "5m"
    )
    tools: Annotated[PrunedTools, about("Whose results are pruned.")] = PrunedTools()
    hard_clear: Annotated[HardClear, about("Clearing whole results.")] = HardClear()


class MemoryFlush(Section):
    enabled: Annotated[Flag, about("Whether the agent writes notes before a compaction.")] = True
    soft_threshold_tokens: Annotated[Count, about("Tokens before the compaction limit at which it does.")] = (
        4000
    )
    force_flush_transcript_bytes: Annotated[
        Size, about("Size of the transcript at which it does anyway.")
    ] = ByteSize(2 << 20)


class Compaction(Section):
    enabled: Annotated[
        Flag, about("Whether to compact ahead of need; an overflow and `/compact` always do.")
    ] = True
    reserve_tokens: Annotated[Count, about("Tokens of the window kept free for the answer.")] = 16384
    reserve_tokens_floor: Annotated[
        Count, about("Least reserve; at most a quarter of the window counts.")
    ] = 20000
    keep_recent_tokens: Annotated[Positive, about("Tokens of recent messages kept word for word.")] = 20000
    recent_turns_preserve: Annotated[Count, about("Recent turns kept word for word.")] = 3
    identifier_policy: Annotated[
        IdentifierPolicy, about("`strict` checks that a summary keeps identifiers exactly.")
    ] = IdentifierPolicy.STRICT
    max_active_transcript_bytes: Annotated[
        Size | None, about("Size of the transcript that starts a compaction. Unset: no such limit.")
    ] = None
    timeout_seconds: Annotated[Positive, about("Limit of one summary call.")] = 180
    model: Annotated[Text | None, about("Model that summarises. Unset: the session's.")] = None
    thinking_level: Annotated[ThinkingLevel, about("Thinking level of the summary call.")] = ThinkingLevel.LOW
    notify_user: Annotated[Flag, about("Whether a compaction is told in the chat.")] = False
    memory_flush: Annotated[MemoryFlush, about("Notes before a compaction.")] = MemoryFlush()
