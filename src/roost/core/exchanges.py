"""Rows that tie sessions together: an exchange between two agents, and how a child ended."""

from dataclasses import dataclass
from enum import StrEnum

from roost.core.keys import SessionKey


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One send from a session to another, with its reply-back loop and its announce."""

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


class CompletionStatus(StrEnum):
    PENDING = "pending"
    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    KILLED = "killed"
    INTERRUPTED = "interrupted"


class Cleanup(StrEnum):
    """What becomes of a child's session once its requester knows how it ended."""

    KEEP = "keep"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a requester is owed for one child run: pending at spawn, settled in the child's last transaction.

    `batch` is the requester's run that spawned the child.
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
