"""A message at the door, and what it does to its session before it is queued.

It opens the session, starts it afresh when that is due, and, if a person sent it, moves origin, interaction and the name of
a group, and the route if it is that person's to move.
"""

from dataclasses import dataclass, field, replace
from datetime import tzinfo

from roost.core import lifecycle
from roost.core.addresses import Address, ChatType, Origin
from roost.core.effects import Archive, ChangeSession, Effects, OpenSession
from roost.core.envelopes import merge_labels, merge_origin
from roost.core.errors import Conflict
from roost.core.inbound import Inbound
from roost.core.keys import SessionKey
from roost.core.lifecycle import ResetPolicy, Stale, StaleReason
from roost.core.messages import ProvenanceKind
from roost.core.principals import Principal
from roost.core.queuesettings import QueueMode, QueuePolicy
from roost.core.resets import Reset, open_generation, open_stale
from roost.core.room import Room
from roost.core.routing import is_anothers
from roost.core.runs import Request
from roost.core.sessions import Base, Facts, Generation, Labels, Lineage, OpenedBy, Session, Times
from roost.core.snapshots import Snapshot
from roost.core.threads import UseThread
from roost.core.turntaking import next_in_line
from roost.core.whereabouts import has_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a session is if this message is its first, and the id its next generation gets. With a `base` it begins
    with what was said there."""

    session_id: str
    owner: Principal
    facts: Facts
    origin: Origin = field(default_factory=Origin)
    lineage: Lineage = field(default_factory=Lineage)
    labels: Labels = field(default_factory=Labels)
    base: Base | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A message, and what is known of how it is to be taken.

    `run_id`: a fresh one, for the run it may open.
    `reset`: what the sender asked for (`/new`).
    `request`: how the run differs from an ordinary turn.
    `mode`: how this one message is queued, whatever the settings say.
    `thread`: the bound thread it came by.
    `each_pays`: whether what is said to an agent is charged to whoever said it.
    `agents`: all that may answer, if that is limited.
    `room`: how much the session may hold, if that is limited.
    """

    inbound: Inbound
    run_id: str
    opening: Opening
    zone: tzinfo
    queue: QueuePolicy = field(default_factory=QueuePolicy)
    resets: ResetPolicy = field(default_factory=ResetPolicy)
    reset: Reset | None = None
    request: Request = field(default_factory=Request)
    mode: QueueMode | None = None
    thread: Address | None = None
    each_pays: bool = False
    agents: tuple[str, ...] | None = None
    room: Room | None = None

    @property
    def human(self) -> bool:
        return self.inbound.provenance.kind is ProvenanceKind.HUMAN


class Overtaken(Conflict):
    """Somebody else of the same name was quicker to open a session."""


def begin(snapshot: Snapshot, arrival: Arrival) -> Effects:
    """The session as the message finds it. Only what a person says resets a stale one and keeps it fresh."""
    inbound, session = arrival.inbound, snapshot.session
    if session is None:
        return (opened(arrival),)
    at = inbound.received_at
    fresh: Effects = open_generation(snapshot, arrival.reset) if arrival.reset else ()
    if not arrival.human:
        _refuse_long(session, arrival, fresh)
        return (*fresh, ChangeSession(key=session.key, touched=at))
    if is_anothers(session, arrival.opening.owner, arrival.opening.facts):
        raise Overtaken(f"{session.key} was opened by somebody else", hint="say it again")
    stale = _stale(session, arrival)
    if stale and not fresh and not _active(snapshot, at):
        fresh = open_stale(snapshot, stale, arrival.opening.session_id, inbound)
    _refuse_long(session, arrival, fresh)
    # A daily reset put off is still due: what was said meanwhile must not make the session look fresh.
    put_off = not fresh and stale is not None and stale.reason is not StaleReason.IDLE
    change = ChangeSession(
        key=session.key,
        labels=_renamed(session, arrival.opening.labels),
        origin=merge_origin(session.origin, arrival.opening.origin),
        route=moved_to(session, arrival),
        touched=at,
        interacted=None if put_off else at,
    )
    shown: Effects = (Archive(key=session.key, at=None),) if session.times.archived is not None else ()
    used: Effects = ()
    if arrival.thread is not None:
        used = (UseThread(address=arrival.thread, key=session.key, at=at),)
    return (*fresh, change, *shown, *used)


def _refuse_long(session: Session, arrival: Arrival, fresh: Effects) -> None:
    if arrival.room is not None and not fresh:
        arrival.room.refuse_long(session)


def _active(snapshot: Snapshot, at: int) -> bool:
    """Whether something is under way that began with what was said here. A turn that yielded has not ended."""
    waiting = next_in_line(snapshot.queued, at) is not None
    return snapshot.running is not None or waiting or snapshot.yielded


def _stale(session: Session, arrival: Arrival) -> Stale | None:
    rule = lifecycle.rule_for(arrival.resets, session.key, arrival.opening.facts)
    verdict = lifecycle.freshness(rule, session.times.interacted, arrival.inbound.received_at, arrival.zone)
    return verdict if isinstance(verdict, Stale) else None


def _renamed(session: Session, called: Labels) -> Labels | None:
    """What a group is called now, if that is something else than before."""
    labels = merge_labels(session.labels, called) if session.facts.shared else session.labels
    return None if labels == session.labels else labels


def opened(arrival: Arrival) -> OpenSession:
    """The session as its first message makes it."""
    inbound = arrival.inbound
    fresh = first(inbound.key, arrival.opening, inbound.received_at)
    route = moved_to(fresh.session, arrival) if arrival.human else None
    return fresh if route is None else replace(fresh, session=fresh.session._replace(route=route))


def moved_to(session: Session, arrival: Arrival) -> Address | None:
    """Where the session is met from now on, if a person's message moves that."""
    inbound = arrival.inbound
    direct = arrival.opening.origin.chat_type in (None, ChatType.DIRECT)
    in_private = direct and inbound.principal == session.owner
    return inbound.reply_to if in_private or has_place(session) else None


def first(key: SessionKey, opening: Opening, at: int) -> OpenSession:
    """A session as it is opened, met nowhere yet."""
    session = Session(
        key=key,
        owner=opening.owner,
        session_id=opening.session_id,
        facts=opening.facts,
        times=Times(created=at, updated=at, started=at, interacted=at),
        lineage=opening.lineage,
        labels=opening.labels,
        origin=opening.origin,
    )
    generation = Generation(
        session_id=opening.session_id,
        key=key,
        number=1,
        opened_at=at,
        opened_by=OpenedBy.FORK if opening.base else OpenedBy.FIRST,
        base=opening.base,
    )
    return OpenSession(session=session, generation=generation)
