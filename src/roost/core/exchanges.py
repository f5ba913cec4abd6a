"""Rows that tie sessions together: an exchange between two agents, and how a child ended."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from roost.core.keys import SessionKey
from roost.core.remotes import RemoteSession


class Phase(StrEnum):
    PRIMARY = "primary"
    LOOP = "loop"
    ANNOUNCE = "announce"
    DONE = "done"


class ExchangeState(StrEnum):
    """The life of the message that opened the exchange, as its sender sees it."""

    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    RUNNING = "running"
    REPLIED = "replied"
    FAILED = "failed"
    EXPIRED = "expired"

    @property
    def ended(self) -> bool:
        return self in (ExchangeState.REPLIED, ExchangeState.FAILED, ExchangeState.EXPIRED)


class Receipt(StrEnum):
    """How a message fared, as a mailbox says it: it waits, it is in the other session's transcript, the other session's
    model was shown it, it was answered, or it never will be."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    READ = "read"
    REPLIED = "replied"
    DEAD = "dead"


_ON_THE_WAY = (ExchangeState.ACCEPTED, ExchangeState.DELIVERED, ExchangeState.RUNNING)
STEP_MS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The call behind an exchange: the run that made it, the run it began, and whether a call waits for the reply, in that
    run or in `waiter`, which asked for it later by the call `asked_in`. A turn after it takes at most `step_ms`. One made for a person in no chat, as on a web page, is `internal`. All that is sent in
    the course of one piece of work has one `thread`. `remote` is the session of another gateway that it went to."""

    by: str | None = None
    run_id: str | None = None
    awaited: bool = False
    waiter: str | None = None
    asked_in: str | None = None
    step_ms: int = STEP_MS
    internal: bool = False
    thread: str | None = None
    remote: RemoteSession | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One send from a session to another, with its reply-back loop and its announce. Of one to another gateway, which has
    neither, `target` is the requester: it is written under that session's lock and told in its feed."""

    id: str
    requester: SessionKey
    target: SessionKey
    request: str
    created_at: int
    max_turns: int
    phase: Phase = Phase.PRIMARY
    state: ExchangeState = ExchangeState.ACCEPTED
    turn: int = 0
    first_reply: str | None = None
    latest_reply: str | None = None
    error: str | None = None
    deadline: int | None = None
    hops: tuple[SessionKey, ...] = ()
    sent: Sent = Sent()

    @property
    def addressee(self) -> str:
        """The session that it went to, by name."""
        return str(self.sent.remote or self.target)

    @property
    def receipt(self) -> Receipt:
        match self.state:
            case ExchangeState.ACCEPTED:
                return Receipt.WAITING
            case ExchangeState.DELIVERED:
                return Receipt.DELIVERED
            case ExchangeState.RUNNING:
                return Receipt.READ
            case ExchangeState.REPLIED:
                return Receipt.READ if self.first_reply is None else Receipt.REPLIED
            case ExchangeState.FAILED | ExchangeState.EXPIRED:
                return Receipt.DEAD
            case _:
                assert_never(self.state)

    def come_to(self, state: ExchangeState) -> "Exchange":
        """The exchange with its message so far on its way; it never goes back."""
        if self.phase is not Phase.PRIMARY or self.state not in _ON_THE_WAY:
            return self
        further = _ON_THE_WAY.index(state) > _ON_THE_WAY.index(self.state)
        return replace(self, state=state) if further else self

    @property
    def heard_by(self) -> str | None:
        """The run whose call waits for the reply, or did until it came."""
        return self.sent.waiter or self.sent.by if self.sent.awaited else None

    def left(self) -> "Exchange":
        """The exchange when its sender stops waiting for a reply that has not come."""
        if self.state.ended or not self.sent.awaited:
            return self
        return replace(self, sent=replace(self.sent, awaited=False, waiter=None, asked_in=None))

    def awaited_in(self, run_id: str, call_id: str) -> "Exchange":
        """The exchange when a call of its sender's begins to wait for a reply that has not come."""
        if self.state.ended:
            return self
        return replace(self, sent=replace(self.sent, awaited=True, waiter=run_id, asked_in=call_id))


class CompletionStatus(StrEnum):
    PENDING = "pending"
    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    KILLED = "killed"
    INTERRUPTED = "interrupted"


class Cleanup(StrEnum):
    """What becomes of a child's session once its requester knows how it ended, and what waited for it has its end."""

    KEEP = "keep"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a requester is owed for one child run: pending at spawn, settled in the child's last transaction.

    `batch` is the requester's run that spawned the child; `steered_at` is when it last said more about the task.
    """

    child_run: str
    child: SessionKey
    requester: SessionKey
    batch: str
    created_at: int
    status: CompletionStatus = CompletionStatus.PENDING
    result: str | None = None
    error: str | None = None
    settled_at: int | None = None
    acknowledged_at: int | None = None
    cleanup: Cleanup = Cleanup.KEEP
    steered_at: int | None = None

    @property
    def counted(self) -> "Spawned":
        return Spawned(child_run=self.child_run, child=self.child, status=self.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawned:
    """A child as its requester counts it: how far its task is, and nothing of what it reported."""

    child_run: str
    child: SessionKey
    status: CompletionStatus
