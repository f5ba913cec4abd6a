"""A session: one conversation under a key, and the generations it has lived through.

A generation is one `session_id`. Reset, fork, branch and back open a new one; closed ones never reopen.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from roost.core.addresses import Address, ChatType, Origin
from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.terms import Terms


class SessionKind(StrEnum):
    """What a list calls a session."""

    MAIN = "main"
    GROUP = "group"
    CRON = "cron"
    HOOK = "hook"
    NODE = "node"
    OTHER = "other"


class SessionStatus(StrEnum):
    """How the newest run stands, or the task whose end it told. `PARKED`: a budget keeps it, and what was said after it,
    waiting."""

    IDLE = "idle"
    QUEUED = "queued"
    PARKED = "parked"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    KILLED = "killed"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"

    @property
    def active(self) -> bool:
        """Whether a run is under way or about to be."""
        return self in _ACTIVE


_ACTIVE = frozenset({SessionStatus.QUEUED, SessionStatus.RUNNING})


class Facts(NamedTuple):
    """Routing facts, decided once when the session is created and never read from the key again."""

    kind: SessionKind
    channel: str | None = None
    chat_type: ChatType | None = None
    account: str | None = None
    peer: str | None = None
    thread: str | None = None
    rule: str | None = None

    @property
    def shared(self) -> bool:
        """Whether it is the session of a group. A main session is its owner's, wherever its first message came from."""
        return self.kind is not SessionKind.MAIN and self.chat_type in (ChatType.GROUP, ChatType.CHANNEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Where a session hangs in the tree; a top-level session has no parent and depth 0. `terms` are those on which
    it was spawned."""

    parent: SessionKey | None = None
    depth: int = 0
    terms: Terms | None = None


def task_of(lineage: Lineage) -> str | None:
    """What a session was spawned for."""
    return lineage.terms.task if lineage.terms else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    label: str | None = None
    display_name: str | None = None
    subject: str | None = None
    room: str | None = None
    space: str | None = None


class SendOverride(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


class Verbosity(StrEnum):
    """What a chat is shown of tool calls: nothing, that they happen, or also what they gave."""

    OFF = "off"
    ON = "on"
    FULL = "full"


class Activation(StrEnum):
    """When a group is answered."""

    MENTION = "mention"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What a person set on this session; it stays through every reset."""

    model: str | None = None
    thinking: str | None = None
    verbose: str | None = None
    reasoning: str | None = None
    usage: str | None = None
    send_policy: SendOverride | None = None
    queue_mode: str | None = None
    queue_debounce_ms: int | None = None
    queue_cap: int | None = None
    queue_drop: str | None = None
    activation: str | None = None


class Counters(NamedTuple):
    """Tokens of the current generation; `total` is the size of its context now."""

    input: int = 0
    output: int = 0
    total: int = 0
    context_window: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost_micros: int = 0
    compactions: int = 0


class Summary(NamedTuple):
    """What a list row shows of the transcript, kept at write time so that no list reads one."""

    title: str | None = None
    preview: str | None = None
    entries: int = 0
    model: str | None = None


class Times(NamedTuple):
    """UTC milliseconds. `interacted` moves only when a person speaks; freshness is judged by it."""

    created: int
    updated: int
    started: int
    interacted: int
    archived: int | None = None
    pinned: int | None = None


class Session(NamedTuple):
    """The one row of a key. `version` is raised by every change, `events` counts its feed."""

    key: SessionKey
    owner: Principal
    session_id: str
    facts: Facts
    times: Times
    lineage: Lineage = Lineage()
    labels: Labels = Labels()
    origin: Origin = Origin()
    route: Address | None = None
    overrides: Overrides = Overrides()
    counters: Counters = Counters()
    summary: Summary = Summary()
    status: SessionStatus = SessionStatus.IDLE
    version: int = 1
    events: int = 0


class Growth(NamedTuple):
    """What new entries change of a session."""

    summary: Summary
    counters: Counters
    at: int


def grown(session: Session, growth: Growth, *, version: int, events: int) -> Session:
    """A session after its transcript has grown, at a version and a count of events."""
    # By place: this happens at every append, and naming all of it costs several times as much.
    created, updated, *kept = session.times
    times = Times._make((created, max(updated, growth.at), *kept))
    summary, counters, _ = growth
    # What stands before its times, and what stands between them and its counters.
    before, between = session[:4], session[5:10]
    return Session._make((*before, times, *between, counters, summary, session.status, version, events))


class OpenedBy(StrEnum):
    """Why a generation was opened."""

    FIRST = "first"
    NEW = "new"
    RESET = "reset"
    DAILY = "daily"
    IDLE = "idle"
    CRON = "cron"
    FORK = "fork"
    BRANCH = "branch"
    BACK = "back"
    IMPORT = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Where a generation continues from: everything up to and including `seq`."""

    session_id: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One `session_id` of a key. `number` counts from 1 within the key; `rule` explains the opening."""

    session_id: str
    key: SessionKey
    number: int
    opened_at: int
    opened_by: OpenedBy
    rule: str | None = None
    previous: str | None = None
    base: Base | None = None
    entries: int = 0
    archived: bool = False
    header: str | None = None
