"""What a decision asks the store to write.

A deciding verb builds a snapshot under the session's lock, calls a pure function with it and applies the
effects it returns, in order, in the same transaction. Every store applies the same effects the same way.

`event` and `refs` are what the feed of the touched session says about an effect; a silent one has neither.
"""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from roost.core.addresses import Address, Origin
from roost.core.deliveries import Delivery
from roost.core.entries import EntryDraft
from roost.core.events import EventKind, Unsaid
from roost.core.exchanges import Completion, CompletionStatus, Exchange
from roost.core.firings import PutFiring
from roost.core.inbound import Inbound, InputMode
from roost.core.keys import SessionKey
from roost.core.ledger import Denial, LedgerRow
from roost.core.runs import Outcome, Progress, Run, StopRequest
from roost.core.sessions import Counters, Generation, Labels, Overrides, Session, SessionStatus
from roost.core.threads import BindThread, UnbindThread, UseThread


class _OfSession:
    __slots__ = ()
    event: ClassVar[EventKind] = EventKind.SESSION_CHANGED
    key: SessionKey

    @property
    def refs(self) -> tuple[str, ...]:
        return (str(self.key),)


class _OfInput:
    __slots__ = ()
    inbound_id: str

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.inbound_id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A key that had no row gets one, with its first generation."""

    session: Session
    generation: Generation

    event: ClassVar[EventKind] = EventKind.SESSION_OPENED

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.generation.session_id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGeneration:
    """The key goes on under a new `session_id`: counters start again, what a person set stays."""

    generation: Generation

    event: ClassVar[EventKind] = EventKind.SESSION_RESET

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.generation.session_id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSession(_OfSession):
    """Replace the given parts of a row; None leaves a part as it is. `touched` moves the activity time."""

    key: SessionKey
    labels: Labels | None = None
    overrides: Overrides | None = None
    counters: Counters | None = None
    origin: Origin | None = None
    route: Address | None = None
    status: SessionStatus | None = None
    touched: int | None = None
    interacted: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive(_OfSession):
    """Hide a session from lists, or show it again (`at` None)."""

    key: SessionKey
    at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin(_OfSession):
    key: SessionKey
    at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSession(Unsaid):
    """Remove a session and its content; the ledger stays."""

    key: SessionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardSession(DeleteSession):
    """Remove a session that nobody needs any more; one that still has work, that another one goes on from, or that is
    gone, is left as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendEntries:
    """Add entries to the current generation of a key."""

    key: SessionKey
    drafts: tuple[EntryDraft, ...]

    event: ClassVar[EventKind] = EventKind.ENTRY

    @property
    def refs(self) -> tuple[str, ...]:
        return tuple(draft.id for draft in self.drafts)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptInput:
    """Keep a message as a pending input of a run; one that waits for the next turn names none."""

    inbound: Inbound
    run_id: str | None
    mode: InputMode

    event: ClassVar[EventKind] = EventKind.INPUT_ACCEPTED

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.inbound.id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveInput(Unsaid):
    """A pending input belongs to another run now."""

    inbound_id: str
    run_id: str
    mode: InputMode


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeInput(_OfInput):
    """A pending input ends inside another message."""

    inbound_id: str
    into: str
    reason: str

    event: ClassVar[EventKind] = EventKind.INPUT_MERGED


@dataclass(frozen=True, slots=True, kw_only=True)
class KillInput(_OfInput):
    """A message that will never be answered; its sender is told by a notice among the same effects. What was merged into
    it dies before it. With `inbound` the message is recorded dead on arrival."""

    inbound_id: str
    reason: str
    inbound: Inbound | None = None

    event: ClassVar[EventKind] = EventKind.INPUT_DEAD


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepInput(_OfInput):
    """A pending input that no run will read is an entry all the same, appended among the same effects."""

    inbound_id: str

    event: ClassVar[EventKind] = EventKind.INPUT_TAKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerInput:
    """A message that was a command: it is done, and this was said to it. No run takes it."""

    inbound: Inbound
    command: str
    answer: str

    event: ClassVar[EventKind] = EventKind.INPUT_ANSWERED

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.inbound.id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRun:
    run: Run

    event: ClassVar[EventKind] = EventKind.RUN_QUEUED

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.run.id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayRun(Unsaid):
    """Move the moment a queued run may start (debounce)."""

    run_id: str
    ready_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequeueRun:
    """A run whose gateway died goes back to the queue."""

    run_id: str
    ready_at: int
    progress: Progress

    event: ClassVar[EventKind] = EventKind.RUN_QUEUED

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.run_id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStop(Unsaid):
    """A run shall end: it begins nothing more, and whoever has it, or takes it, ends it."""

    run_id: str
    stop: StopRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRun:
    run_id: str
    outcome: Outcome

    event: ClassVar[EventKind] = EventKind.RUN_ENDED

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.run_id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddDelivery:
    delivery: Delivery

    event: ClassVar[EventKind] = EventKind.DELIVERY

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.delivery.id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class PutExchange:
    exchange: Exchange

    event: ClassVar[EventKind] = EventKind.EXCHANGE

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.exchange.id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class OweCompletion:
    """A child was spawned: its requester is owed an answer."""

    completion: Completion

    event: ClassVar[EventKind] = EventKind.CHILD

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.completion.child_run,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerChild(Unsaid):
    """More was said about a task that is not settled."""

    child_run: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleCompletion:
    """How a child ended. Only the first settlement counts."""

    child_run: str
    status: CompletionStatus
    at: int
    result: str | None = None
    error: str | None = None

    event: ClassVar[EventKind] = EventKind.CHILD

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.child_run,)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgeCompletion:
    """The requester has it. A child that was to be deleted then goes as soon as it has nothing left to do."""

    child_run: str
    at: int

    event: ClassVar[EventKind] = EventKind.CHILD

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.child_run,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDenial(Unsaid):
    denial: Denial


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordUsage(Unsaid):
    """A model call as it turned out, in the place of what was held for it."""

    row: LedgerRow


Effect: TypeAlias = (
    OpenSession
    | OpenGeneration
    | ChangeSession
    | Archive
    | Pin
    | DeleteSession
    | DiscardSession
    | AppendEntries
    | AcceptInput
    | MoveInput
    | MergeInput
    | KillInput
    | KeepInput
    | AnswerInput
    | QueueRun
    | DelayRun
    | RequeueRun
    | RequestStop
    | EndRun
    | AddDelivery
    | PutExchange
    | OweCompletion
    | SteerChild
    | SettleCompletion
    | AcknowledgeCompletion
    | BindThread
    | UseThread
    | UnbindThread
    | PutFiring
    | RecordDenial
    | RecordUsage
)
Effects: TypeAlias = tuple[Effect, ...]
