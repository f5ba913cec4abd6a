"""The one way a key goes on under a new `session_id`, whoever asked for it and through whichever door.

What a person set stays on the row, pending inputs and queued runs stay queued, nothing is renamed or removed.
"""

from dataclasses import dataclass
from types import MappingProxyType

from roost.core.effects import Effects, OpenGeneration, RequestStop
from roost.core.errors import InvalidInput, NotFound
from roost.core.inbound import Inbound
from roost.core.lifecycle import Stale, StaleReason
from roost.core.notices import notice, reset_line
from roost.core.runs import StopRequest
from roost.core.sessions import Base, Generation, OpenedBy
from roost.core.snapshots import Snapshot

RESET_REASON = "the session was started afresh"
_CONTINUING = (OpenedBy.BACK, OpenedBy.FORK, OpenedBy.BRANCH)
_AUTOMATIC = MappingProxyType(
    {
        StaleReason.DAILY: OpenedBy.DAILY,
        StaleReason.IDLE: OpenedBy.IDLE,
        StaleReason.MARKED: OpenedBy.RESET,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """A request for a new generation. `base` is what it continues: back, fork and branch have one, no other."""

    reason: OpenedBy
    session_id: str
    at: int
    rule: str
    base: Base | None = None

    def __post_init__(self) -> None:
        if (self.base is not None) != (self.reason in _CONTINUING):
            raise InvalidInput(
                f"a generation opened by {self.reason} "
                + ("continues none" if self.base else "needs one to continue")
            )


def open_generation(snapshot: Snapshot, reset: Reset) -> Effects:
    """Close the current generation and open the next."""
    current = snapshot.generation
    if current is None:
        raise NotFound(f"there is no session {snapshot.key}", hint="send it a message first")
    generation = Generation(
        session_id=reset.session_id,
        key=snapshot.key,
        number=current.number + 1,
        opened_at=reset.at,
        opened_by=reset.reason,
        rule=reset.rule,
        previous=current.session_id,
        base=reset.base,
    )
    return (OpenGeneration(generation=generation),)


def end_begun(snapshot: Snapshot, request: StopRequest) -> Effects:
    """Have what began in the current generation end, wherever it is, also what is parked; what waits for it goes on. Who
    was to tell of a task has forgotten it afterwards: how that ended is told without."""
    known = (run for run in (snapshot.running, *snapshot.queued) if run)
    begun = (run for run in known if run.started_at is not None or run.tells_of_task)
    return tuple(RequestStop(run_id=run.id, stop=request) for run in begun)


def open_stale(snapshot: Snapshot, stale: Stale, session_id: str, said: Inbound) -> Effects:
    """An automatic reset, told in one line before the answer to what was said. Never asked for while a run is active;
    what stands aside ends."""
    at = said.received_at
    reset = Reset(reason=_AUTOMATIC[stale.reason], session_id=session_id, at=at, rule=stale.rule.name)
    ended = end_begun(snapshot, StopRequest(reason=RESET_REASON, by=said.principal, at=at))
    told = notice(snapshot.key, said.reply_to, reset_line(stale), at=at, about=session_id)
    return (*ended, *open_generation(snapshot, reset), *told)


def way_back(current: Generation, last_seq: int) -> Base:
    """What `/back` continues: the generation before the current one, up to its last entry."""
    if current.previous is None:
        raise InvalidInput("there is no earlier conversation to go back to")
    return Base(session_id=current.previous, seq=last_seq)
