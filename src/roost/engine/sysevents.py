"""Events for a session's next turn, from doors other than a schedule."""

from dataclasses import dataclass
from datetime import UTC

from roost.core import sysevents
from roost.core.arrivals import Arrival, Opening
from roost.core.effects import Effects
from roost.core.inbound import Inbound, Source
from roost.core.jobs import SystemEvent, Wake
from roost.core.keys import SessionKey
from roost.core.messages import Provenance, ProvenanceKind, Text
from roost.core.occasions import facts_of_job
from roost.core.principals import Principal
from roost.core.snapshots import Snapshot
from roost.engine.rulebook import Rulebook
from roost.engine.rules import NewId
from roost.engine.timers import Timers
from roost.ports import Accepted, Clock, Store

WAKE = Source(channel="wake")


@dataclass(frozen=True, slots=True, kw_only=True)
class From:
    """Where an event comes from; `source` makes it the same event when it comes again. `trace` is what it belongs to, if
    it was said."""

    kind: ProvenanceKind = ProvenanceKind.SYSTEM
    tool: str = "wake"
    source: Source = WAKE
    trace: str | None = None


SAID = From()


class SystemEvents:
    def __init__(self, store: Store, clock: Clock, new_id: NewId, book: Rulebook, timers: Timers) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._book = book
        self._timers = timers

    async def tell(self, key: SessionKey, event: SystemEvent, by: Principal, came: From = SAID) -> Accepted:
        """Keep an event for the next turn of a session; looked at at once if it says so."""
        ownership = self._book.current.routing.ownership
        arrival = Arrival(
            inbound=Inbound(
                id=self._new_id(),
                key=key,
                principal=by,
                provenance=Provenance(kind=came.kind, principal=by, source_tool=came.tool),
                content=(Text(event.text),),
                source=came.source,
                received_at=self._clock.now(),
                trace=came.trace or self._new_id(),
            ),
            run_id=self._new_id(),
            opening=Opening(
                session_id=self._new_id(),
                owner=ownership.named(key, by, by),
                facts=facts_of_job(key, ownership.main_name),
            ),
            zone=UTC,
        )

        def decide(snapshot: Snapshot) -> Effects:
            return sysevents.wait(snapshot, arrival)

        accepted = await self._store.accept_inbound(arrival.inbound, decide)
        if event.wake is Wake.NOW and not accepted.duplicate and key.is_main(ownership.main_name):
            await self._timers.wake(key.agent)
        return accepted
