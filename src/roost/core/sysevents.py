"""Events nobody asked about: they wait for a session's next turn, and change neither its route nor its freshness."""

from roost.core.arrivals import Arrival, begin
from roost.core.effects import AcceptInput, Effects, KillInput
from roost.core.inbound import InboundRecord, InputMode
from roost.core.snapshots import Snapshot

MOST_WAITING = 50
TOO_MANY = f"more than {MOST_WAITING} events wait for a turn"


def waiting(snapshot: Snapshot) -> tuple[InboundRecord, ...]:
    """The events that no turn has taken yet, oldest first."""
    return tuple(record for record in snapshot.pending if record.mode is InputMode.WAIT)


def wait(snapshot: Snapshot, arrival: Arrival) -> Effects:
    """An event comes. Where too many wait, the oldest give way."""
    known = waiting(snapshot)
    surplus = known[: max(0, len(known) + 1 - MOST_WAITING)]
    return (
        *begin(snapshot, arrival),
        AcceptInput(inbound=arrival.inbound, run_id=None, mode=InputMode.WAIT),
        *(KillInput(inbound_id=record.inbound.id, reason=TOO_MANY) for record in surplus),
    )
