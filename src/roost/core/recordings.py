"""A transcript as something that can be played again: who said what and when, what the model answered and its tools gave
back; and where two of them first differ."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import assert_never

from roost.core import toolnames
from roost.core.jsonl_messages import message_to_json
from roost.core.jsonvalue import JsonObject, compact
from roost.core.messages import (
    AssistantMessage,
    Body,
    Message,
    ProvenanceKind,
    StopReason,
    ToolResult,
    UserMessage,
    tool_calls,
)

_BROKEN_OFF = (StopReason.ABORTED, StopReason.ERROR)
# What is another each time: moments, and what only the store knows.
_INCIDENTAL = frozenset({"timestamp", "details"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of the model, what its tools gave back, and what was said to it meanwhile."""

    message: AssistantMessage
    results: tuple[ToolResult, ...] = ()
    heard: tuple[UserMessage, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        return (self.message, *self.results, *self.heard)

    @property
    def complete(self) -> bool:
        """Whether everything is known that followed from it."""
        asked = sorted(call.id for call in tool_calls(self.message))
        return self.message.stop not in _BROKEN_OFF and asked == sorted(one.call_id for one in self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTurn:
    opening: tuple[UserMessage, ...]
    answers: tuple[Answer, ...]

    @property
    def complete(self) -> bool:
        """Whether it ended by itself: with words, or by a tool that ends a turn."""
        if not self.answers or not all(one.complete for one in self.answers):
            return False
        calls = tool_calls(self.answers[-1].message)
        return not calls or any(call.name == toolnames.SESSIONS_YIELD for call in calls)

    @property
    def messages(self) -> tuple[Message, ...]:
        return (*self.opening, *(message for one in self.answers for message in one.messages))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What can be played of a transcript. `left_out` messages cannot: answers that nobody's words led to, messages that led
    to none, and everything from a turn on that broke off."""

    turns: tuple[RecordedTurn, ...]
    left_out: int = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(message for turn in self.turns for message in turn.messages)

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(
            call.name for turn in self.turns for one in turn.answers for call in tool_calls(one.message)
        )


@dataclass(frozen=True, slots=True)
class _Reader:
    """The turns so far; `unasked` while what comes was led to by nobody's words."""

    turns: list[tuple[list[UserMessage], list[Answer]]] = field(default_factory=list)
    unasked: list[Message] = field(default_factory=list)

    def take(self, message: Message) -> None:
        match message:
            case UserMessage():
                self._hear(message)
            case AssistantMessage() if self._goes_on():
                self.turns[-1][1].append(Answer(message=message))
            case ToolResult() if self._calls():
                last = self.turns[-1][1].pop()
                self.turns[-1][1].append(_with_result(last, message))
            case AssistantMessage() | ToolResult():
                self.unasked.append(message)
            case _:
                assert_never(message)

    def _hear(self, message: UserMessage) -> None:
        if self._calls():
            last = self.turns[-1][1].pop()
            self.turns[-1][1].append(
                Answer(message=last.message, results=last.results, heard=(*last.heard, message))
            )
        elif self.turns and not self.turns[-1][1]:
            self.turns[-1][0].append(message)
        else:
            self.turns.append(([message], []))

    def _calls(self) -> bool:
        """Whether the last answer has called tools, after which there will be another."""
        return bool(self.turns and self.turns[-1][1] and tool_calls(self.turns[-1][1][-1].message))

    def _goes_on(self) -> bool:
        return bool(self.turns and (not self.turns[-1][1] or self._calls()))


def _with_result(answer: Answer, result: ToolResult) -> Answer:
    """Results in the order of their calls, however they came."""
    order = [call.id for call in tool_calls(answer.message)]
    results = (*answer.results, result)
    known = [one for one in results if one.call_id in order]
    known.sort(key=lambda one: order.index(one.call_id))
    return Answer(message=answer.message, results=tuple(known), heard=answer.heard)


def _answered(said: Sequence[UserMessage]) -> tuple[UserMessage, ...]:
    """What began a turn: a run takes words of people together, and of anybody else one message. What stands beside it, such
    as the report of a child, was told there and began nothing."""
    people = tuple(one for one in said if one.provenance.kind is ProvenanceKind.HUMAN)
    return people or tuple(said[-1:])


def recorded(bodies: Iterable[Body]) -> Recording:
    """What can be played of a transcript; summaries and notices are the gateway's own and no part of it."""
    reader, count = _Reader(), 0
    for body in bodies:
        if isinstance(body, Message):
            reader.take(body)
            count += 1
    turns = [RecordedTurn(opening=_answered(said), answers=tuple(answers)) for said, answers in reader.turns]
    whole = [turn.complete for turn in turns]
    kept = tuple(turns[: whole.index(False)] if False in whole else turns)
    return Recording(turns=kept, left_out=count - sum(len(turn.messages) for turn in kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first message, counted from 1, that is not as it was; None: there is none on that side."""

    number: int
    recorded: str | None
    replayed: str | None


def first_difference(before: Sequence[Message], after: Sequence[Message]) -> Difference | None:
    for number, (one, other) in enumerate(zip_longest(map(_line, before), map(_line, after)), 1):
        if one != other:
            return Difference(number=number, recorded=one, replayed=other)
    return None


def _line(message: Message) -> str:
    shown: JsonObject = {
        name: value for name, value in message_to_json(message).items() if name not in _INCIDENTAL
    }
    return compact(shown)
