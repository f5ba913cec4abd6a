"""A run that ends, as those who wait for it see it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from roost.core.exchanges import Completion
from roost.core.runs import Outcome, Request, Run, RunKind
from roost.core.sendpolicy import SendPolicy
from roost.core.sentinels import sentinel_of, strip_trailing

Announce: TypeAlias = Callable[[Completion, str | None], str]
"""The announcement of a settled completion, around what the child itself wrote for it, if it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """`reply` is the last visible text of the run; `policy` says where announcements may go."""

    outcome: Outcome
    announce: Announce
    reply: str | None = None
    policy: SendPolicy | None = None

    @property
    def said(self) -> str | None:
        """What the run has to say: nothing if it did not end well, or answered with a sentinel. One behind other text
        falls away."""
        text = strip_trailing(self.reply or "").strip()
        silent = not self.outcome.succeeded or not text or sentinel_of(text) is not None
        return None if silent else text


def completes(run: Run) -> str:
    """The run in whose place this one ends."""
    return run.request.completes or run.id


def continuation(run: Run) -> Request:
    """What is asked of a run that goes on where this one yielded, and ends in its place."""
    return replace(
        run.request, kind=RunKind.CONTINUATION, deadline=None, prompt=None, completes=completes(run)
    )
