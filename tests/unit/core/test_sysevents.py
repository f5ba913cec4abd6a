from dataclasses import replace

from roost.core.effects import AcceptInput, ChangeSession, KillInput, OpenSession
from roost.core.inbound import InboundRecord, InboundState, InputMode
from roost.core.messages import Provenance, ProvenanceKind
from roost.core.snapshots import Snapshot
from roost.core.sysevents import MOST_WAITING, wait, waiting
from roost.testing.builders import MAIN, inbound, session
from tests import samples

EVENT = replace(inbound("e"), provenance=Provenance(kind=ProvenanceKind.SCHEDULE), reply_to=None)
ARRIVAL = samples.arrival(EVENT)


def record(name: str, mode: InputMode = InputMode.WAIT) -> InboundRecord:
    run_id = None if mode is InputMode.WAIT else "r"
    return InboundRecord(inbound=inbound(name), state=InboundState.PENDING, mode=mode, run_id=run_id)


def test_an_event_opens_a_session_that_is_not_there() -> None:
    opened, accepted = wait(Snapshot(key=MAIN), ARRIVAL)
    assert isinstance(opened, OpenSession)
    assert accepted == AcceptInput(inbound=EVENT, run_id=None, mode=InputMode.WAIT)


def test_an_event_moves_nothing_but_the_activity_time() -> None:
    changed, _ = wait(Snapshot(key=MAIN, session=session()), ARRIVAL)
    assert changed == ChangeSession(key=MAIN, touched=EVENT.received_at)


def test_the_oldest_give_way_where_too_many_wait() -> None:
    known = (record("m", InputMode.OPEN), *(record(f"e{number}") for number in range(MOST_WAITING)))
    snapshot = Snapshot(key=MAIN, session=session(), pending=known)
    assert waiting(snapshot) == known[1:]
    *_, killed = wait(snapshot, ARRIVAL)
    assert isinstance(killed, KillInput)
    assert killed.inbound_id == "e0"
    assert not any(isinstance(one, KillInput) for one in wait(replace(snapshot, pending=known[:-1]), ARRIVAL))
