"""A session spawns another: whether it may, and everything that is written when it does.

All ids come from the call, so that a call that is made again finds the child it made.
"""

from dataclasses import dataclass, replace
from datetime import UTC

from roost.core import queueing, toolnames
from roost.core.a2a import INTERNAL_CHANNEL
from roost.core.addresses import Address
from roost.core.announce import subagent_task_message
from roost.core.arrivals import Arrival, Opening
from roost.core.effects import Effects, OpenSession, OweCompletion
from roost.core.errors import Conflict, Forbidden
from roost.core.exchanges import Cleanup, Completion, CompletionStatus
from roost.core.inbound import Inbound, Source
from roost.core.keys import SessionKey
from roost.core.labels import Namesake
from roost.core.messages import Provenance, ProvenanceKind, Text
from roost.core.notices import derived_id
from roost.core.runs import Lane, Request, Run
from roost.core.sessions import Base, Facts, Labels, Lineage, Session, SessionKind
from roost.core.snapshots import Snapshot, SpawnSnapshot
from roost.core.sources import child_key
from roost.core.terms import SpawnContext, Terms
from roost.core.threads import BindThread, ThreadBinding

FORK_TOKENS = 100_000
DEPTH_SETTING = "agents.defaults.subagents.maxSpawnDepth"
CHILDREN_SETTING = "agents.defaults.subagents.maxChildrenPerAgent"
THREADS_HINT = 'leave `thread` out and spawn with `mode: "run"`'


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTerms:
    """The thread of the requester shall belong to the child, until it is idle or old; 0 sets no limit."""

    idle_ms: int = 0
    max_age_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnOrder:
    """A child to be spawned by a run that is under way; everything but what the requester's own row decides."""

    run_id: str
    call_id: str
    agent: str
    task: str
    terms: Terms
    at: int
    max_children: int
    label: str | None = None
    cleanup: Cleanup = Cleanup.KEEP
    limit_ms: int | None = None
    context: SpawnContext = SpawnContext.ISOLATED
    binding: ThreadTerms | None = None

    @property
    def child(self) -> SessionKey:
        return child_key(self.agent, child_name(self.run_id, self.call_id))


def child_name(run_id: str, call_id: str) -> str:
    """What tells the child of one call from every other."""
    return derived_id("child", run_id, call_id)


def run_of(child: SessionKey) -> str:
    """The run a child was spawned with."""
    return derived_id("child run", str(child))


def active(completions: tuple[Completion, ...]) -> int:
    """How many children have not ended. One that waits for its own children has not."""
    return sum(one.status is CompletionStatus.PENDING for one in completions)


def refuse_depth(spawns: int, max_depth: int) -> None:
    if spawns < 1:
        raise Forbidden(
            f"this session may not spawn: {DEPTH_SETTING} allows {max_depth} level(s) of children",
            hint="do the work here, or report what is left to do",
        )


def refuse_crowd(completions: tuple[Completion, ...], most: int) -> None:
    if active(completions) >= most:
        raise Forbidden(
            f"{most} children of this session are at work, as many as {CHILDREN_SETTING} allows",
            hint="wait for one to end, or stop one with `subagents`",
        )


def too_large(session: Session, context_tokens: int) -> bool:
    """Whether a conversation is too long to begin a child with: by what was counted when its last turn ended, or as it is
    reckoned in this one."""
    return max(session.counters.total, context_tokens) > FORK_TOKENS


def spawn(snapshot: Snapshot, order: SpawnOrder) -> Effects:
    """Open the child with its task, queue its run, and owe its end to the requester, whose row this is.

    Raises `Forbidden` where there are too many children, and `Conflict` where the requester's run is over.
    """
    parent, run = snapshot.session, snapshot.running
    if parent is None or run is None or run.id != order.run_id or run.stop is not None:
        raise Conflict("the run that would spawn has ended", hint="spawn nothing more")
    refuse_crowd(snapshot.children, order.max_children)
    arrival = _arrival(parent, run, order)
    owed = Completion(
        child_run=arrival.run_id,
        child=order.child,
        requester=parent.key,
        batch=run.id,
        created_at=order.at,
        cleanup=order.cleanup,
    )
    opened = queueing.accept(Snapshot(key=order.child), arrival)
    return (*opened, *_bound(run, order), OweCompletion(completion=owed))


def after(seen: SpawnSnapshot, effects: Effects) -> SpawnSnapshot:
    """What the next of several children sees that are opened together."""
    owed = tuple(one.completion for one in effects if isinstance(one, OweCompletion))
    bound = next((one.binding for one in effects if isinstance(one, BindThread)), seen.bound)
    requester = replace(seen.requester, children=(*seen.requester.children, *owed))
    opened = (one.session for one in effects if isinstance(one, OpenSession))
    named = (Namesake(session=one, task=owed[0]) for one in opened)
    return replace(seen, requester=requester, bound=bound, namesakes=(*seen.namesakes, *named))


def thread_of(run: Run) -> Address:
    """The thread a run answers in. Raises `Forbidden` where it answers in none."""
    address = run.request.reply_to
    if address is None or address.thread is None:
        raise Forbidden("this conversation is in no thread that could be bound", hint=THREADS_HINT)
    return address


def _bound(run: Run, order: SpawnOrder) -> Effects:
    if order.binding is None:
        return ()
    binding = ThreadBinding(
        address=thread_of(run),
        key=order.child,
        bound_by=run.cause.principal,
        bound_at=order.at,
        used_at=order.at,
        idle_ms=order.binding.idle_ms,
        max_age_ms=order.binding.max_age_ms,
    )
    return (BindThread(binding=binding),)


def _arrival(parent: Session, run: Run, order: SpawnOrder) -> Arrival:
    child, depth = order.child, parent.lineage.depth + 1
    text = subagent_task_message(
        order.task, depth=depth, max_depth=order.terms.max_depth, mode=order.terms.mode
    )
    forked = order.context is SpawnContext.FORK
    return Arrival(
        inbound=Inbound(
            id=derived_id("task", str(child)),
            key=child,
            principal=run.cause.principal,
            provenance=Provenance(
                kind=ProvenanceKind.SUBAGENT,
                principal=run.cause.principal,
                source_session=str(parent.key),
                source_tool=toolnames.SESSIONS_SPAWN,
            ),
            content=(Text(text),),
            source=Source(channel=INTERNAL_CHANNEL, idempotency_key=f"spawn:{child}"),
            received_at=order.at,
            trace=run.cause.trace,
            hops=(*run.cause.hops, parent.key),
        ),
        run_id=run_of(child),
        opening=Opening(
            session_id=derived_id("child generation", str(child)),
            owner=parent.owner,
            facts=Facts(kind=SessionKind.OTHER),
            lineage=Lineage(parent=parent.key, depth=depth, terms=order.terms),
            labels=Labels(label=order.label),
            base=Base(session_id=parent.session_id, seq=parent.summary.entries) if forked else None,
        ),
        zone=UTC,
        request=Request(lane=Lane.SUBAGENT, requester=parent.key, longest_ms=order.limit_ms),
    )
