"""Events from doors other than a schedule."""

from roost.core.inbound import InboundState, InputMode, Source
from roost.core.jobs import JobPlace, SystemEvent, Wake
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind
from roost.core.principals import OWNER
from roost.engine.sysevents import From
from roost.engine.timers import beat_id
from roost.testing.clock import NOON
from tests.jobs import job
from tests.unit.engine.timing import Watch

MAIN = SessionKey.named("main", "main")
EVENT = SystemEvent(text="it rains")


async def test_an_event_waits_and_wakes_the_agent() -> None:
    watch = Watch()
    beat = await watch.keep(job(beat_id("main"), next_at=NOON + 9, place=JobPlace.BESIDE, key=MAIN))
    record = (await watch.system_events.tell(MAIN, EVENT, OWNER)).record
    assert (record.state, record.mode, record.run_id) == (InboundState.PENDING, InputMode.WAIT, None)
    assert record.inbound.provenance.kind is ProvenanceKind.SYSTEM
    kept = await watch.store.job(beat.id)
    assert kept is not None
    assert kept.next_at == NOON


async def test_an_event_that_can_wait_or_is_for_another_session_wakes_nobody() -> None:
    watch = Watch()
    beat = await watch.keep(job(beat_id("main"), next_at=NOON + 9, place=JobPlace.BESIDE, key=MAIN))
    await watch.system_events.tell(MAIN, SystemEvent(text="x", wake=Wake.NEXT), OWNER)
    await watch.system_events.tell(SessionKey.named("main", "garden"), EVENT, OWNER)
    assert await watch.store.job(beat.id) == beat


async def test_the_same_event_counts_once() -> None:
    watch = Watch()
    came = From(kind=ProvenanceKind.HOOK, tool="hook:door", source=Source(channel="hook", external_id="d"))
    first = await watch.system_events.tell(MAIN, EVENT, OWNER, came)
    again = await watch.system_events.tell(MAIN, EVENT, OWNER, came)
    assert again.duplicate
    assert again.record == first.record
    assert len(await watch.store.pending_inputs(MAIN)) == 1
