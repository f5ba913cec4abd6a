"""Which run a message gets, and what gives way when too many wait.

Every message ends up pending, merged into another, or dead with a notice. A message joins a run only if that run
answers to the same address, for the same authority, and a person caused both.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from roost.core import queuesettings
from roost.core.addresses import ChatType
from roost.core.arrivals import Arrival, begin
from roost.core.burying import bury
from roost.core.effects import (
    AcceptInput,
    DelayRun,
    Effects,
    EndRun,
    KillInput,
    MergeInput,
    MoveInput,
    QueueRun,
    RequestStop,
)
from roost.core.inbound import Inbound, InboundRecord, InputMode
from roost.core.messages import ProvenanceKind
from roost.core.notices import dropped_line, notice
from roost.core.principals import Principal
from roost.core.queuesettings import DropPolicy, QueueMode, QueueSettings
from roost.core.queuetext import excerpt
from roost.core.references import refuse_unknown
from roost.core.runs import Cause, Outcome, Request, Run, RunKind, RunState, StopRequest
from roost.core.sessions import Overrides
from roost.core.snapshots import Snapshot

# A queue in which somebody always speaks would otherwise never come to rest.
_LONGEST_DEBOUNCE = 10
INTERRUPTED = "a newer message came"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlan:
    """`interrupts` names the run under way that should be ended so that this message comes next."""

    effects: Effects
    interrupts: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seat:
    """The run a message goes to; `effects` make it ready."""

    run_id: str
    mode: InputMode
    effects: Effects = ()


def accept(snapshot: Snapshot, arrival: Arrival) -> Effects:
    """Everything that follows from a message."""
    return plan(snapshot, arrival).effects


def plan(snapshot: Snapshot, arrival: Arrival) -> QueuePlan:
    """The effects of a message, and what they amount to. One that nobody would answer is refused."""
    if arrival.agents is not None:
        refuse_unknown(arrival.inbound.key.agent, arrival.agents)
    opened = begin(snapshot, arrival)
    inbound, at = arrival.inbound, arrival.inbound.received_at
    overrides = snapshot.session.overrides if snapshot.session else Overrides()
    settings = queuesettings.resolve(arrival.queue, overrides, inbound.source.channel)
    settings = replace(settings, mode=arrival.mode or settings.mode)
    surplus = _surplus(snapshot, arrival, settings)
    if surplus and settings.drop is DropPolicy.NEW:
        line = dropped_line((excerpt(inbound),), settings.cap)
        dead = KillInput(inbound_id=inbound.id, reason="queue full", inbound=inbound)
        told = notice(inbound.key, inbound.reply_to, line, at=at, about=inbound.id)
        return QueuePlan(effects=(*opened, dead, *told))
    seat = _seat(snapshot, arrival, settings)
    accepted = AcceptInput(inbound=inbound, run_id=seat.run_id, mode=seat.mode)
    dropped = _drop(snapshot, surplus, inbound, seat, settings)
    interrupts = _interrupted(snapshot, arrival, settings)
    stopped: Effects = ()
    if interrupts is not None:
        # Stored, for it may be under way in another gateway.
        request = StopRequest(reason=INTERRUPTED, by=inbound.principal, at=at, goes_on=True)
        stopped = (RequestStop(run_id=interrupts, stop=request),)
    return QueuePlan(
        effects=(*opened, *seat.effects, accepted, *dropped, *stopped),
        interrupts=interrupts,
    )


def _seat(snapshot: Snapshot, arrival: Arrival, settings: QueueSettings) -> _Seat:
    inbound, running = arrival.inbound, snapshot.running
    if arrival.human and not arrival.reset:
        for run in reversed(snapshot.queued):
            if settings.mode is not QueueMode.FOLLOWUP and _joinable(snapshot, run, arrival):
                return _Seat(
                    run_id=run.id,
                    mode=InputMode.OPEN,
                    effects=_delay(run, inbound.received_at, _wait(snapshot, settings)),
                )
        if running and settings.mode is QueueMode.STEER and _steerable(snapshot, running, arrival):
            return _Seat(run_id=running.id, mode=InputMode.STEER)
    hurries = not arrival.human or settings.mode is QueueMode.INTERRUPT
    ready_at = inbound.received_at + (0 if hurries else _wait(snapshot, settings))
    run = new_run(arrival.run_id, inbound, _request(arrival), ready_at)
    return _Seat(run_id=run.id, mode=InputMode.OPEN, effects=(QueueRun(run=run),))


def _request(arrival: Arrival) -> Request:
    inbound = arrival.inbound
    return replace(
        arrival.request,
        reply_to=inbound.reply_to,
        exchange_id=inbound.exchange_id,
        deadline=inbound.deadline,
    )


def new_run(run_id: str, inbound: Inbound, request: Request, ready_at: int) -> Run:
    """A run counts as queued since its message came, so that it stays ahead of what came later."""
    cause = Cause(
        principal=inbound.principal, kind=inbound.provenance.kind, trace=inbound.trace, hops=inbound.hops
    )
    return Run(
        id=run_id,
        key=inbound.key,
        state=RunState.QUEUED,
        cause=cause,
        request=request,
        queued_at=inbound.received_at,
        ready_at=ready_at,
    )


def _wait(snapshot: Snapshot, settings: QueueSettings) -> int:
    return settings.debounce_ms if snapshot.running else settings.settle_ms


def _delay(run: Run, at: int, wait: int) -> Effects:
    ready_at = min(at + wait, run.queued_at + _LONGEST_DEBOUNCE * wait)
    return (DelayRun(run_id=run.id, ready_at=ready_at),) if ready_at > run.ready_at else ()


def by_person(inbound: Inbound) -> bool:
    return inbound.provenance.kind is ProvenanceKind.HUMAN


def _one_voice(snapshot: Snapshot, arrival: Arrival, other: Principal) -> bool:
    """Whether two messages carry the same authority: in a group, all who are not the owner count alike, unless each
    pays: nobody's message waits for another's budget."""
    own = arrival.inbound.principal
    facts = snapshot.session.facts if snapshot.session else arrival.opening.facts
    in_group = facts.chat_type in (ChatType.GROUP, ChatType.CHANNEL)
    alike = in_group and not arrival.each_pays
    return own == other or (alike and not own.is_owner and not other.is_owner)


def _joinable(snapshot: Snapshot, run: Run, arrival: Arrival) -> bool:
    """What is about to end takes nothing more."""
    if (
        run.stop is not None
        or run.cause.kind is not ProvenanceKind.HUMAN
        or run.request.kind is not RunKind.TURN
    ):
        return False
    return run.request == _request(arrival) and _one_voice(snapshot, arrival, run.cause.principal)


def _steerable(snapshot: Snapshot, running: Run, arrival: Arrival) -> bool:
    if (
        running.stop is not None
        or running.cause.kind is not ProvenanceKind.HUMAN
        or running.request.kind is not RunKind.TURN
    ):
        return False
    speaks = running.cause.principal
    # One that acts for nobody already loses no rights by it.
    alike = (
        _one_voice(snapshot, arrival, speaks) if running.cause.joint else speaks == arrival.inbound.principal
    )
    return alike and running.request == _request(arrival)


def _interrupted(snapshot: Snapshot, arrival: Arrival, settings: QueueSettings) -> str | None:
    """A new start ends whatever runs; a mere message only what answers the same people."""
    running = snapshot.running
    if running is None or not arrival.human:
        return None
    if arrival.reset or (settings.mode is QueueMode.INTERRUPT and _joinable(snapshot, running, arrival)):
        return running.id
    return None


def _surplus(snapshot: Snapshot, arrival: Arrival, settings: QueueSettings) -> tuple[InboundRecord, ...]:
    """The oldest messages that must give way for this one. Nobody's message displaces another authority's.

    What opens the run under way waits no more: without it, that run would have nothing to answer. What begins a new
    conversation waits behind none of them.
    """
    if not arrival.human or arrival.reset:
        return ()
    under_way = snapshot.running.id if snapshot.running else None
    waiting = [
        record
        for record in snapshot.pending
        if by_person(record.inbound)
        and (record.run_id, record.mode) != (under_way, InputMode.OPEN)
        and record.inbound.reply_to == arrival.inbound.reply_to
        and _one_voice(snapshot, arrival, record.inbound.principal)
    ]
    return tuple(waiting[: max(0, len(waiting) + 1 - settings.cap)])


def _drop(
    snapshot: Snapshot,
    surplus: tuple[InboundRecord, ...],
    arrived: Inbound,
    seat: _Seat,
    settings: QueueSettings,
) -> Effects:
    at = arrived.received_at
    effects: list[Effects] = []
    for record in surplus:
        inbound = record.inbound
        if settings.drop is DropPolicy.OLD:
            line = partial(dropped_line, cap=settings.cap)
            effects.append(bury(snapshot.carried(record), "queue full", at, line=line))
        else:
            # It moves first: what is left of it is shown by the run that takes the message it ends in.
            moved = MoveInput(inbound_id=inbound.id, run_id=seat.run_id, mode=seat.mode)
            merged = MergeInput(inbound_id=inbound.id, into=arrived.id, reason=excerpt(inbound))
            effects.append((moved, merged))
    gone = {record.inbound.id for record in surplus}
    return (
        *(effect for group in effects for effect in group),
        *_end_emptied(snapshot, gone, at, keep=seat.run_id),
    )


def _end_emptied(snapshot: Snapshot, gone: Collection[str], at: int, keep: str | None = None) -> Effects:
    """Queued runs that lost all they were to answer. One that began before may have taken more than still waits."""
    lost = {record.run_id for record in snapshot.pending if record.inbound.id in gone}
    still = {record.run_id for record in snapshot.pending if record.inbound.id not in gone}
    outcome = Outcome(state=RunState.KILLED, at=at, code="dropped", error="its messages were dropped")
    return tuple(
        EndRun(run_id=run.id, outcome=outcome)
        for run in snapshot.queued
        if run.id in lost - still - {keep} and run.started_at is None
    )
