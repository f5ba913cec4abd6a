"""A claimed run being played: what it works with, and when something last happened in it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from roost.core.budgets import Budgets
from roost.core.ledger import LedgerRow
from roost.core.queries import SessionContext
from roost.core.runs import Claim, Run
from roost.core.sessions import Session
from roost.core.whereabouts import Doors
from roost.engine.rules import Part
from roost.engine.toolnotices import ToolNotices
from roost.engine.voice import Voice
from roost.ports import Clock, Store

Lent: TypeAlias = Callable[[], AbstractContextManager[None]]
Recast: TypeAlias = Callable[[], Part | None]


@dataclass(slots=True, kw_only=True)
class Headway:
    """What changes in a run. Whom `run` acts for, it has from what it took; `spent` are calls that go into the ledger with
    what is written next."""

    run: Run
    moved_at: int
    spent: list[LedgerRow] = field(default_factory=list)


@dataclass(slots=True)
class Playing:
    """The part as it is played now: a fallback plays on in another."""

    part: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Within `lent` the run leaves its place to others. `recast` casts its part anew where the rules, or those who speak,
    have changed since. A model may be silent for `silence_ms`. `notices` tell its chat of tool calls."""

    store: Store
    clock: Clock
    claim: Claim
    conversation: SessionContext
    playing: Playing
    headway: Headway
    lent: Lent
    voice: Voice
    doors: Doors
    budgets: Budgets = field(default_factory=Budgets)
    recast: Recast | None = None
    notices: ToolNotices | None = None
    silence_ms: int = 120_000

    def aside(self, part: Part) -> "Work":
        """The same run where nobody hears it, in another part."""
        return replace(self, playing=Playing(part), voice=Voice.mute(self.run))

    @property
    def part(self) -> Part:
        return self.playing.part

    @property
    def run(self) -> Run:
        return self.headway.run

    @property
    def session(self) -> Session:
        """As it was when the run began."""
        return self.conversation.session

    def bill(self) -> tuple[LedgerRow, ...]:
        """The calls that are not in the ledger yet, for whoever writes next; told twice, they are written once."""
        return tuple(self.headway.spent)

    def billed(self) -> None:
        """They are in the ledger now."""
        self.headway.spent.clear()

    def move(self) -> None:
        """Something happened."""
        self.headway.moved_at = self.clock.now()

    @property
    def idle_ms(self) -> int:
        """How long nothing has happened."""
        return self.clock.now() - self.headway.moved_at

    def acting(self) -> Part:
        """The part that tools act by. What the rules take from an agent, or from those who speak, is gone at once; nothing
        else of a run changes."""
        newer = self.recast() if self.recast else None
        return newer.beside(self.part) if newer else self.part
