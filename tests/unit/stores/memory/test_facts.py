import pytest

from roost.core.entries import Entry
from roost.core.events import Event, EventKind
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.retention import Sort
from roost.stores.memory.tables import MemoryTables
from roost.stores.tables import drive
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock

SIDE = SessionKey.named("main", "side")
HOOKS = tuple(SessionKey.parse(f"agent:main:hook:{name}") for name in "abc")


@pytest.fixture
def tables() -> MemoryTables:
    return MemoryTables(FakeClock())


def happened(key: SessionKey, number: int, at: int) -> Event:
    return Event(key=key, number=number, at=at, kind=EventKind.ENTRY, ref=f"e-{number}")


def test_a_feed_is_old_up_to_its_first_event_that_is_not(tables: MemoryTables) -> None:
    feed = [happened(MAIN, 1, NOON), happened(MAIN, 2, NOON + 9), happened(MAIN, 3, NOON - 9)]
    other = [happened(SIDE, 1, NOON + 9)]
    drive(tables.insert_events([*feed, *other]))
    before = NOON + 1
    assert drive(tables.stale_feeds(before)) == (MAIN,)
    assert drive(tables.stale_feeds(NOON - 9)) == ()
    assert drive(tables.count_stale_events(MAIN, before)) == 1
    drive(tables.delete_stale_events(MAIN, before))
    assert drive(tables.events(MAIN, 0, 10)) == tuple(feed[1:])
    assert drive(tables.events(SIDE, 0, 10)) == tuple(other)
    assert drive(tables.count_stale_events(MAIN, before)) == 0


def test_old_messages_go_a_few_at_a_time_and_those_that_wait_stay(tables: MemoryTables) -> None:
    states = (
        *(InboundState.TAKEN, InboundState.DEAD, InboundState.MERGED),
        *(InboundState.PENDING, InboundState.TAKEN),
    )
    for number, state in enumerate(states):
        record = InboundRecord(inbound=builders.inbound(f"m-{number}"), state=state)
        drive(tables.insert_inbound(record))
    young = InboundRecord(inbound=builders.inbound("young", at=NOON + 9), state=InboundState.TAKEN)
    drive(tables.insert_inbound(young))
    assert drive(tables.count_stale_inbound(NOON)) == 0
    assert drive(tables.count_stale_inbound(NOON + 1)) == 3
    assert [drive(tables.delete_stale_inbound(NOON + 1, 2)) for _ in range(3)] == [2, 1, 0]
    left = [number for number in range(5) if drive(tables.inbound(f"m-{number}"))]
    assert left == [2, 3]
    assert drive(tables.inbound("young")) == young


def test_what_may_be_swept_waits_for_nothing_and_is_old_enough(tables: MemoryTables) -> None:
    for key in HOOKS:
        drive(tables.insert_session(builders.session(key)))
    assert drive(tables.sweepable(NOON)) == ()
    drive(tables.insert_delivery(builders.delivery("d-1", HOOKS[0]), builders.session().owner))
    assert drive(tables.has_work(HOOKS[0]))
    assert not drive(tables.has_work(HOOKS[1]))
    found = drive(tables.sweepable(NOON + 1))
    assert [(one.key, one.sort) for one in found] == [(key, Sort.SYNTHETIC) for key in HOOKS[1:]]


def test_nothing_of_a_sessions_size_is_another_ones(tables: MemoryTables) -> None:
    for number, key in enumerate((MAIN, SIDE)):
        drive(tables.insert_session(builders.session(key)))
        drive(tables.insert_generation(builders.generation(key, f"s-{number}")))
        entry = Entry(
            session_id=f"s-{number}", seq=1, id=f"e-{number}", body=builders.said("x", "y" * 100).body
        )
        drive(tables.insert_entries(key, (entry,)))
    full = drive(tables.fullness())
    assert (full.sessions, full.kept, full.bytes) == (2, 2, 2 * drive(tables.session_bytes(MAIN)))
    assert drive(tables.session_bytes(MAIN)) > 100


def test_memory_has_no_disk_to_give_back_to(tables: MemoryTables) -> None:
    assert drive(tables.free_pages(10)) == 0
