"""A claimed run being played: what it works with, and when something last happened in it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeAlias

from roost.core.budgets import Budgets
from roost.core.ledger import LedgerRow
from roost.core.messages import AssistantMessage, Body
from roost.core.queries import Conversation
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
    """Within `lent` the run leaves its place to others. `cause` is the run's own until it took what others said.
    `recast` casts its part anew where the rules, or those who speak, have changed since. A model may be silent
    for `silence_ms`. `spent` are calls that go into the ledger with what is written next. `notices` tell its chat of
    tool calls."""

    store: Store
    clock: Clock
    run: Run
    claim: Claim
    conversation: Conversation
    part: Part
    lent: Lent
    voice: Voice
    budgets: Budgets = field(default_factory=Budgets)
    recast: Recast | None = None
    notices: ToolNotices | None = None
    silence_ms: int = 120_000
    spent: list[LedgerRow] = field(default_factory=list)
    cause: Cause = field(init=False)
    moved_at: int = field(init=False)

    def __post_init__(self) -> None:
        self.cause = self.run.cause
        self.moved_at = self.clock.now()

    @property
    def session(self) -> Session:
        """As it was when the run began."""
        return self.conversation.session

    def bill(self) -> tuple[LedgerRow, ...]:
        """The calls that are not in the ledger yet, for whoever writes next; told twice, they are written once."""
        return tuple(self.spent)

    def billed(self) -> None:
        """They are in the ledger now."""
        self.spent.clear()

    def move(self) -> None:
        """Something happened."""
        self.moved_at = self.clock.now()

    @property
    def idle_ms(self) -> int:
        """How long nothing has happened."""
        return self.clock.now() - self.moved_at

    def acting(self) -> Part:
        """The part that tools act by. What the rules take from an agent, or from those who speak, is gone at once; nothing
        else of a run changes."""
        newer = self.recast() if self.recast else None
        return newer or self.part
