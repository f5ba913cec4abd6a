"""Which waiting runs may start now: fair between those who asked, within every limit."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from roost.core.principals import Principal
from roost.core.runs import Lane, Run, RunState
from roost.core.sessions import SessionStatus

PER_ASKER = 16
"""How many runs of one asker are looked at when some are chosen; one with more is asked for again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A missing lane means no limit; `ceiling` is what this process may still start. Lanes are what a machine can do at
    once: with a `gateway` they are its own, without one all gateways' together."""

    ceiling: int
    lanes: Mapping[Lane, int] = field(default_factory=dict)
    gateway: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Runs that could start (at most one a session, oldest first) and runs that are under way."""

    ready: tuple[Run, ...]
    running: tuple[Run, ...]


NO_TURNS: Mapping[str, int] = MappingProxyType({})
Choose: TypeAlias = Callable[[Backlog], tuple[str, ...]]


def asker(run: Run) -> str:
    """Whose turn in the round this run takes: the spawning session's, or its own session's."""
    return str(run.request.requester or run.key)


def choose(backlog: Backlog, limits: Limits, turns: Mapping[str, int] = NO_TURNS) -> tuple[str, ...]:
    """The runs to start, one round after another through those who asked. `turns` counts when each of them last had
    one: whoever has waited longest comes first."""
    room = _Room(backlog.running, limits)
    waiting_by: dict[str, deque[Run]] = {}
    for run in backlog.ready:
        waiting_by.setdefault(asker(run), deque()).append(run)
    rounds = {name: waiting_by[name] for name in sorted(waiting_by, key=lambda name: turns.get(name, 0))}
    chosen: list[str] = []
    while rounds and len(chosen) < limits.ceiling:
        for name in list(rounds):
            waiting = rounds[name]
            run = waiting.popleft()
            if not waiting:
                del rounds[name]
            if len(chosen) < limits.ceiling and room.take(run):
                chosen.append(run.id)
    return tuple(chosen)


class _Room:
    """What the limits still leave."""

    def __init__(self, under_way: tuple[Run, ...], limits: Limits) -> None:
        # A run that waits for others keeps no place from them: a limit of one would wait for itself.
        running = tuple(run for run in under_way if not run.waiting)
        self._limits = limits
        self._lanes = Counter(run.request.lane for run in running if _is_of(run, limits.gateway))

    def take(self, run: Run) -> bool:
        lane, limits = run.request.lane, self._limits
        if self._lanes[lane] >= limits.lanes.get(lane, limits.ceiling + self._lanes[lane]):
            return False
        self._lanes[lane] += 1
        return True


def _is_of(run: Run, gateway: str | None) -> bool:
    return gateway is None or (run.claim is not None and run.claim.gateway == gateway)


def in_line(queued: Sequence[Run], now: int) -> Iterator[Run]:
    """Who of a session come one after another, oldest first. One that stands aside keeps only its own person waiting."""
    aside: set[Principal] = set()
    for run in queued:
        if run.aside and run.ready_at > now:
            aside.add(run.cause.principal)
        if run.cause.principal not in aside:
            yield run


def next_in_line(queued: Sequence[Run], now: int) -> Run | None:
    """Whom the others of a session wait for."""
    return next(in_line(queued, now), None)


def standing(left: Sequence[Run], now: int) -> SessionStatus:
    """How a session stands that has these runs left, oldest first."""
    if any(run.state is RunState.RUNNING for run in left):
        return SessionStatus.RUNNING
    head = next_in_line(left, now)
    return (
        SessionStatus.PARKED
        if head is None or (head.parked and head.ready_at > now)
        else SessionStatus.QUEUED
    )
