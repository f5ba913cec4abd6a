"""What one transaction sees and writes. Whole verbs are proven by the contract suite."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from roost.core.effects import OpenSession
from roost.core.errors import Conflict, Fenced, InvalidInput, NotFound
from roost.core.events import EventKind
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.runs import Claim, RunState
from roost.core.seals import Seals
from roost.core.sessions import Session, SessionStatus
from roost.ports import Topic, TopicKind
from roost.stores.memory.tables import MemoryTables
from roost.stores.tables import drive
from roost.stores.unit import Unit
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock

SIDE = SessionKey.named("main", "side")
NEWS = Topic(TopicKind.SESSION, str(MAIN))
HELD = Lease(gateway=Gateway(name="first", holder="p"), epoch=3, expires_at=NOON + 10)


class CountingTables(MemoryTables):
    """Counts how often a row is read and written."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.locked = 0
        self.updates: list[Session] = []

    async def lock_session(self, key: SessionKey) -> Session | None:
        self.locked += 1
        return await super().lock_session(key)

    async def update_session(self, was: Session, now: Session) -> None:
        self.updates.append(now)
        await super().update_session(was, now)


@pytest.fixture
def tables() -> CountingTables:
    tables = CountingTables()
    for key in (MAIN, SIDE):
        opening: OpenSession = builders.opening(builders.session(key), f"s of {key}")
        drive(tables.insert_session(opening.session._replace(session_id=f"s of {key}", events=4)))
        drive(tables.insert_generation(opening.generation))
    return tables


@pytest.fixture
def unit(tables: CountingTables) -> Unit:
    return Unit(tables, FakeClock(NOON + 5), {}, Seals({}))


def flushed(unit: Unit, tables: CountingTables) -> Sequence[Session]:
    drive(unit.flush())
    return tables.updates


def test_a_session_is_read_once_and_written_once(unit: Unit, tables: CountingTables) -> None:
    before = drive(unit.existing(MAIN))
    drive(unit.set_status(MAIN, SessionStatus.RUNNING))
    drive(unit.append(MAIN, (builders.said("e-1", "hello"),)))
    unit.emit(MAIN, EventKind.ENTRY, "e-1")
    (written,) = flushed(unit, tables)
    assert tables.locked == 1
    assert (written.version, written.events) == (before.version + 1, before.events + 1)
    assert (written.status, written.summary.entries) == (SessionStatus.RUNNING, 1)
    assert written.times.updated == NOON + 5
    assert unit.waking.topics == {NEWS}


def test_a_session_that_was_only_read_is_not_written(unit: Unit, tables: CountingTables) -> None:
    drive(unit.existing(MAIN))
    drive(unit.set_status(MAIN, SessionStatus.IDLE))
    assert flushed(unit, tables) == []
    assert unit.waking.topics == set()


def test_what_follows_a_flush_is_a_new_change(unit: Unit, tables: CountingTables) -> None:
    drive(unit.existing(MAIN))
    unit.emit(MAIN, EventKind.ENTRY, "e-1")
    flushed(unit, tables)
    assert len(flushed(unit, tables)) == 1
    unit.emit(MAIN, EventKind.ENTRY, "e-2", "e-3")
    assert [(one.version, one.events) for one in flushed(unit, tables)] == [(2, 5), (3, 7)]
    events = drive(tables.events(MAIN, 0, 10))
    assert [(event.number, event.ref) for event in events] == [(5, "e-1"), (6, "e-2"), (7, "e-3")]


def test_appending_nothing_is_one_change_at_most(unit: Unit, tables: CountingTables) -> None:
    drive(unit.append(MAIN, ()))
    unit.emit(MAIN, EventKind.ENTRY)
    flushed(unit, tables)
    assert len(flushed(unit, tables)) == 1


def test_entries_that_come_in_parts_go_on_counting(unit: Unit) -> None:
    first = drive(unit.append(MAIN, (builders.said("e-1", "a"), builders.said("e-2", "b"))))
    second = drive(unit.append(MAIN, (builders.said("e-3", "c"),)))
    assert [entry.seq for entry in first + second] == [1, 2, 3]
    assert drive(unit.existing(MAIN)).summary.entries == 3


def test_each_session_has_its_own_numbers(unit: Unit, tables: CountingTables) -> None:
    for key in (MAIN, SIDE, MAIN):
        drive(unit.existing(key))
        unit.emit(key, EventKind.ENTRY, "e")
    assert [(one.key, one.events) for one in flushed(unit, tables)] == [(MAIN, 6), (SIDE, 5)]


def test_a_session_that_is_gone_leaves_no_events_but_news(unit: Unit, tables: CountingTables) -> None:
    drive(unit.existing(MAIN))
    unit.emit(MAIN, EventKind.ENTRY, "e-1")
    drive(tables.delete_session(MAIN))
    unit.forget(MAIN)
    assert flushed(unit, tables) == []
    assert drive(tables.events(MAIN, 0, 10)) == ()
    assert unit.waking.topics == {NEWS}
    assert drive(unit.session(MAIN)) is None


def test_what_is_not_there_is_named(unit: Unit) -> None:
    with pytest.raises(NotFound, match="agent:main:nowhere"):
        drive(unit.existing(SessionKey.named("main", "nowhere")))
    with pytest.raises(NotFound, match="r-9"):
        drive(unit.known_run("r-9"))
    with pytest.raises(NotFound, match="m-9"):
        drive(unit.pending_input("m-9"))


def test_a_message_that_has_ended_is_no_pending_input(unit: Unit, tables: CountingTables) -> None:
    record = InboundRecord(inbound=builders.inbound("m-1"), state=InboundState.TAKEN)
    drive(tables.insert_inbound(record))
    with pytest.raises(Conflict, match="taken"):
        drive(unit.pending_input("m-1"))


def test_a_message_may_not_wait_for_a_run_that_will_not_take_it(unit: Unit, tables: CountingTables) -> None:
    waiting = InboundRecord(inbound=builders.inbound("m-1"), state=InboundState.PENDING, run_id="r-1")
    drive(tables.insert_inbound(waiting))
    unit.seated(MAIN, "r-1")
    with pytest.raises(InvalidInput, match="m-1"):
        drive(unit.flush())
    drive(tables.insert_run(builders.run("r-1")))
    unit.seated(MAIN, "r-1")
    drive(unit.flush())
    ended = replace(builders.run("r-1"), state=RunState.DONE)
    drive(tables.update_run(ended))
    unit.ended(ended)
    with pytest.raises(InvalidInput, match="m-1"):
        drive(unit.flush())


@pytest.mark.parametrize(
    ("lease", "held"),
    [
        (HELD, True),
        (replace(HELD, epoch=4), False),
        (replace(HELD, expires_at=NOON), False),
        (replace(HELD, gateway=Gateway(name="second", holder="p")), False),
        (None, False),
    ],
    ids=["held", "newer epoch", "expired", "another's", "none"],
)
def test_a_claim_holds_as_long_as_the_lease_it_was_made_under(
    unit: Unit, tables: CountingTables, lease: Lease | None, held: bool
) -> None:
    claim = Claim(id="r-1", gateway="first", epoch=3, fence=1)
    run = replace(builders.run("r-1"), state=RunState.RUNNING, claim=claim, fence=1)
    drive(tables.insert_run(run))
    if lease is not None:
        drive(tables.put_lease(lease))
    assert drive(unit.holds(claim)) is held
    if held:
        assert drive(unit.claimed_run(claim)) == run
    else:
        with pytest.raises(Fenced):
            drive(unit.claimed_run(claim))
