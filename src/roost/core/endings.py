"""A run that ends, as those who wait for it see it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from roost.core.exchanges import Completion
from roost.core.notices import derived_id
from roost.core.prose import answer, unleaked
from roost.core.runs import Outcome, Request, Run, RunKind, RunState
from roost.core.whereabouts import Met, nowhere

ABANDONED = "stopped while it waited for its sub-agents"
OVERDUE = "its time was over while it waited for its sub-agents"
_LEFT = 4

Announce: TypeAlias = Callable[[Completion, str | None], str]
"""The announcement of a settled completion, around what the child itself wrote for it, if it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """`reply` is the last visible text of the run, `tool_calls` what it did before its time was over; `announce_ms` is how
    long a child may think about its announcement, `met` where a session is told what it did not ask for."""

    outcome: Outcome
    announce: Announce
    reply: str | None = None
    announce_ms: int | None = None
    tool_calls: int = 0
    met: Met = nowhere

    @property
    def said(self) -> str | None:
        """What the run has to say: nothing if it did not end well."""
        return visible(self.reply) if self.outcome.succeeded else None

    @property
    def last_words(self) -> str:
        """All that it said last, however it ended, and also to ask for silence."""
        return unleaked(self.reply or "").strip()


def visible(reply: str | None) -> str | None:
    """What people and other sessions see of an answer: nothing of reasoning and tool calls that leaked into it, nothing of
    a sentinel, and not one behind other text."""
    return answer(reply or "").strip() or None


def completes(run: Run) -> str:
    """The run in whose place this one ends."""
    return run.request.completes or run.id


def continuations(run_id: str) -> tuple[str, ...]:
    """The runs of which one may go on where this one yielded: the one its last child started, or one of those that
    take what it left."""
    return (derived_id("continuation", run_id), *(derived_id("after", run_id, str(n)) for n in range(_LEFT)))


def gone_on(run: Run, outcome: Outcome, later: Iterable[Run | None], *, owed: bool) -> Run:
    """Where a run stands that yielded: in the one that goes on with it, at work itself while a child's end is owed to it,
    and stopped otherwise, for nobody but who stops it settles all it waits for."""
    found = next((one for one in later if one and one.request.completes), None)
    if found is not None:
        return found
    if owed:
        return replace(run, state=RunState.RUNNING, outcome=None)
    ended = replace(outcome, state=RunState.KILLED, yielded=False, error=ABANDONED, code="stopped")
    return replace(run, state=ended.state, outcome=ended)


def continuation(run: Run) -> Request:
    """What is asked of a run that goes on where this one yielded, and ends in its place: it has the rest of its time."""
    return replace(
        run.request,
        kind=RunKind.CONTINUATION,
        deadline=run.due,
        longest_ms=None,
        prompt=None,
        completes=completes(run),
    )
