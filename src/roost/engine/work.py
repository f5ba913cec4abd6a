"""A claimed run being played: what it works with, and when something last happened in it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from roost.core.budgets import Budgets
from roost.core.messages import AssistantMessage, Body
from roost.core.runs import Cause, Claim, Run
from roost.core.sessions import Session
from roost.core.upkeep import Load
from roost.engine.rules import Part
from roost.engine.toolnotices import ToolNotices
from roost.engine.voice import Voice
from roost.ports import Clock, Store

Lent: TypeAlias = Callable[[], AbstractContextManager[None]]
Recast: TypeAlias = Callable[[], Part | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a run ends with: its last words, other entries, a line for whoever asked, and how full its context is.
    One that `yielded` said nothing yet: it waits for others."""

    words: AssistantMessage | None = None
    bodies: tuple[Body, ...] = ()
    told: str | None = None
    load: Load | None = None
    yielded: bool = False


@dataclass(slots=True)
class Work:
    """`asking` while a model is expected to say something; within `lent` the run leaves its place to others. `cause`
    is the run's own until it took what others said. `recast` casts its part anew where the rules have changed since. `notices`
    tell its chat of tool calls."""

    store: Store
    clock: Clock
    run: Run
    claim: Claim
    session: Session
    part: Part
    lent: Lent
    voice: Voice
    budgets: Budgets = field(default_factory=Budgets)
    recast: Recast | None = None
    notices: ToolNotices | None = None
    asking: bool = False
    cause: Cause = field(init=False)
    moved_at: int = field(init=False)

    def __post_init__(self) -> None:
        self.cause = self.run.cause
        self.moved_at = self.clock.now()

    def move(self) -> None:
        """Something happened."""
        self.moved_at = self.clock.now()

    def acting(self) -> Part:
        """The part that tools act by. What the rules take from an agent is gone at once; nothing else of a run changes."""
        newer = self.recast() if self.recast else None
        return newer or self.part

    @contextmanager
    def waiting_for_words(self) -> Iterator[None]:
        """Around a model call."""
        self.asking = True
        self.move()
        try:
            yield
        finally:
            self.asking = False
