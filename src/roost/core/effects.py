"""What a decision asks the store to write, and what it saw when it decided.

A deciding verb builds a snapshot under the session's lock, calls a pure function with it and applies the
effects it returns, in order, in the same transaction. Every store applies the same effects the same way.

`event` and `refs` are what the feed of the touched session says about an effect; a silent one has neither.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from roost.core.addresses import Address, Origin
from roost.core.deliveries import Delivery
from roost.core.entries import EntryDraft
from roost.core.events import EventKind, Silent
from roost.core.exchanges import Completion, CompletionStatus, Exchange
from roost.core.firings import Firing, PutFiring
from roost.core.inbound import Inbound, InboundRecord, InputMode
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
class DeleteSession(Silent):
    """Remove a session and its content; the ledger stays."""

    key: SessionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardSession(DeleteSession):
    """Remove a session that nobody needs any more; one that still has work, or is gone, is left as it is."""


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
class MoveInput(Silent):
    """A pending input belongs to another run now."""

    inbound_id: str
    run_id: str
    mode: InputMode


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeInput:
    """A pending input ends inside another message."""

    inbound_id: str
    into: str
    reason: str

    event: ClassVar[EventKind] = EventKind.INPUT_MERGED

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.inbound_id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class KillInput:
    """A message that will never be answered; its sender is told by a notice among the same effects. With `inbound` the
    message is recorded dead on arrival."""

    inbound_id: str
    reason: str
    inbound: Inbound | None = None

    event: ClassVar[EventKind] = EventKind.INPUT_DEAD

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.inbound_id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepInput:
    """A pending input that no run will read is an entry all the same, appended among the same effects."""

    inbound_id: str

    event: ClassVar[EventKind] = EventKind.INPUT_TAKEN

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.inbound_id,)


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
class DelayRun(Silent):
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
class RequestStop(Silent):
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
    """The requester has it."""

    child_run: str
    at: int

    event: ClassVar[EventKind] = EventKind.CHILD

    @property
    def refs(self) -> tuple[str, ...]:
        return (self.child_run,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDenial(Silent):
    denial: Denial


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordUsage(Silent):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A session as it stands under its lock.

    `running` is its one running run, `queued` those waiting, oldest first; `pending` are the inputs no run
    has taken, in order of arrival; `children` are completions still owed to this session.
    """

    key: SessionKey
    session: Session | None = None
    generation: Generation | None = None
    running: Run | None = None
    queued: tuple[Run, ...] = ()
    pending: tuple[InboundRecord, ...] = ()
    children: tuple[Completion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """A run that ends: its session, the exchange it serves, what it `spawned`, what its requester is owed, and who
    asked. `completion` is owed to `requester`; `siblings` are the other completions of the same batch, and `batch` is
    the requester's run that spawned them. `firing` is what it was started for, `audience` the session it posts into.
    """

    run: Run
    session: Snapshot
    exchange: Exchange | None = None
    completion: Completion | None = None
    siblings: tuple[Completion, ...] = ()
    requester: Snapshot | None = None
    batch: Run | None = None
    partner: Snapshot | None = None
    spawned: tuple[Completion, ...] = ()
    firing: Firing | None = None
    audience: Snapshot | None = None

    @property
    def reset_away(self) -> bool:
        """Whether the generation the run began in is closed: its words belong to none that is open."""
        session, began_in = self.session.session, self.run.session_id
        return session is not None and began_in is not None and session.session_id != began_in


Decide: TypeAlias = Callable[[Snapshot], Effects]
Advance: TypeAlias = Callable[[RunSnapshot], Effects]
