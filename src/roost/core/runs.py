"""A run: one execution of an agent on a session. At most one runs per session at a time."""

from dataclasses import dataclass
from enum import StrEnum

from roost.core.addresses import Address
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind
from roost.core.principals import Principal, PrincipalKind


class RunKind(StrEnum):
    TURN = "turn"
    GREETING = "greeting"
    CONTINUATION = "continuation"
    EXCHANGE = "exchange"
    ANNOUNCE = "announce"
    COMPACTION = "compaction"
    FLUSH = "flush"

    @property
    def answers(self) -> bool:
        """Whether what such a run says is said to people."""
        return self in (RunKind.TURN, RunKind.GREETING, RunKind.CONTINUATION)


class Lane(StrEnum):
    MAIN = "main"
    SUBAGENT = "subagent"
    NESTED = "nested"
    CRON = "cron"


class RunState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    KILLED = "killed"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"

    @property
    def ended(self) -> bool:
        return self not in (RunState.QUEUED, RunState.RUNNING)


class StepKind(StrEnum):
    MODEL = "model"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The newest thing a run began, recorded before it happens; `done` once its result is an entry. While it `waits`
    for other runs, it takes no place among those that are under way."""

    kind: StepKind
    at: int
    tool: str | None = None
    call_id: str | None = None
    reenterable: bool = False
    waits: bool = False
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Whose message, of which provenance, made this run; rights are judged by it, also those of what the run brings about.
    Once it took what several people said, the principal is the agent's own."""

    principal: Principal
    kind: ProvenanceKind
    trace: str
    hops: tuple[SessionKey, ...] = ()

    @property
    def by_owner(self) -> bool:
        """Whether the gateway's owner said it in person: what privileged tools ask for."""
        return self.kind is ProvenanceKind.HUMAN and self.principal.is_owner

    @property
    def joint(self) -> bool:
        """Whether several people said it, none of whom is acted for."""
        return self.kind is ProvenanceKind.HUMAN and self.principal.kind is PrincipalKind.AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a run was asked for; frozen when it is queued.

    `prompt` is said to the model for this run only and is never an entry; `instructions` stand in its system text. `completes` is the child run in whose
    place this run ends or is announced. It ends at `deadline`, and at the latest `longest_ms` after it began. `firing` is
    the time of a job it was started for; what it says is posted into the session `posts_to`.
    """

    kind: RunKind = RunKind.TURN
    lane: Lane = Lane.MAIN
    reply_to: Address | None = None
    requester: SessionKey | None = None
    exchange_id: str | None = None
    deadline: int | None = None
    longest_ms: int | None = None
    model: str | None = None
    thinking: str | None = None
    prompt: str | None = None
    instructions: str | None = None
    completes: str | None = None
    firing: str | None = None
    posts_to: SessionKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What recovery needs to know."""

    step: Step | None = None
    model_calls: int = 0
    recalls: int = 0
    recoveries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended; `model_reason` says why that model answered.

    `yielded` marks a turn that ended to wait for the children it spawned, at the latest `until` its time is over.
    """

    state: RunState
    at: int
    error: str | None = None
    code: str | None = None
    model: str | None = None
    model_reason: str | None = None
    yielded: bool = False
    until: int | None = None

    @property
    def succeeded(self) -> bool:
        return self.state is RunState.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to write for a run or delivery, until the fence is raised."""

    id: str
    gateway: str
    epoch: int
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """That a budget keeps a run waiting: which one and why, and since when any has. Its user was told then. A `personal`
    budget is that of whoever caused the run, and nobody else's."""

    at: int
    setting: str
    reason: str
    personal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest:
    """Who asked for a run to end, and why. Kept on the run: it must not be taken up again. What it was about `goes_on` if
    the conversation is to go on with it."""

    reason: str
    by: Principal
    at: int
    goes_on: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`ready_at` is when it may start (debounce, budgets); `fence` counts its claims."""

    id: str
    key: SessionKey
    state: RunState
    cause: Cause
    request: Request
    queued_at: int
    ready_at: int
    started_at: int | None = None
    progress: Progress = Progress()
    outcome: Outcome | None = None
    claim: Claim | None = None
    fence: int = 0
    session_id: str | None = None
    parked: Parked | None = None
    stop: StopRequest | None = None

    @property
    def called_off(self) -> bool:
        """Whether it was stopped for good: nobody is to go on with what comes of it."""
        if self.stop is not None:
            return not self.stop.goes_on
        return self.outcome is not None and self.outcome.state is RunState.KILLED

    @property
    def tells_of_task(self) -> bool:
        """Whether by it alone a requester hears how a child ended: what the child found in the conversation it is in."""
        return self.request.kind is RunKind.ANNOUNCE and self.request.completes is not None

    @property
    def hears_late(self) -> bool:
        """Whether it was begun to hear what came of an exchange that is over: what it says goes back to nobody."""
        return self.request.kind is RunKind.EXCHANGE and self.request.exchange_id is None

    @property
    def aside(self) -> bool:
        """Whether it lets other people's runs pass while it waits."""
        return self.parked is not None and self.parked.personal

    @property
    def due(self) -> int | None:
        """When what was asked of it has to be over, in whichever run that ends; None: it may take its time."""
        longest, began = self.request.longest_ms, self.started_at
        limit = None if began is None or longest is None else began + longest
        return min((end for end in (self.request.deadline, limit) if end is not None), default=None)

    @property
    def waiting(self) -> bool:
        """Whether it has left its place to the runs it waits for."""
        step = self.progress.step
        return step is not None and step.waits and not step.done
