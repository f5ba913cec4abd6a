from pathlib import Path

import apsw
import pytest

from roost.core.entries import Entry
from roost.core.errors import StoreCorrupt
from roost.core.events import Event, EventKind
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.principals import OWNER
from roost.core.retention import Candidate, Cutoffs, Sort, sort_of
from roost.core.sessions import Facts, SessionKind
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.tables import SqliteTables, WriterTables
from roost.stores.tables import drive
from roost.testing.builders import MAIN, delivery, generation, inbound, opening, said, session
from roost.testing.clock import NOON, FakeClock
from tests.unit.stores.conftest import open_session

CHILD = SessionKey.named("helper", "child")
KEYS = tuple(
    SessionKey.parse(f"agent:main:{rest}")
    for rest in (
        "main",
        "subagent:a",
        "acp:a",
        "hook:a",
        "dashboard:a",
        "main:heartbeat",
        "telegram:group:1",
        "cron:x",
    )
)


def test_a_message_that_still_waits_is_never_old(tables: SqliteTables) -> None:
    for name, state in (("waits", InboundState.PENDING), ("taken", InboundState.TAKEN)):
        drive(tables.insert_inbound(InboundRecord(inbound=inbound(name), state=state)))
    assert drive(tables.count_stale_inbound(NOON)) == 0
    assert drive(tables.count_stale_inbound(NOON + 1)) == 1
    assert drive(tables.delete_stale_inbound(NOON + 1, 10)) == 1
    assert drive(tables.inbound("waits")) is not None
    assert drive(tables.inbound("taken")) is None


def test_a_feed_is_old_up_to_its_first_event_that_is_not(tables: SqliteTables) -> None:
    open_session(tables)
    open_session(tables, CHILD)
    feed = [
        Event(key=MAIN, number=number, at=at, kind=EventKind.ENTRY, ref="e")
        for number, at in ((1, NOON), (2, NOON + 9), (3, NOON - 9))
    ]
    other = Event(key=CHILD, number=1, at=NOON + 9, kind=EventKind.ENTRY, ref="e")
    drive(tables.insert_events([*feed, other]))
    assert drive(tables.stale_feeds(NOON + 1)) == (MAIN,)
    assert drive(tables.stale_feeds(NOON - 9)) == ()
    assert drive(tables.count_stale_events(MAIN, NOON + 1)) == 1
    drive(tables.delete_stale_events(MAIN, NOON + 1))
    assert drive(tables.events(MAIN, 0, 10)) == tuple(feed[1:])
    assert drive(tables.count_stale_events(MAIN, NOON + 10)) == 2
    drive(tables.delete_stale_events(MAIN, NOON + 10))
    assert drive(tables.events(MAIN, 0, 10)) == ()
    assert drive(tables.events(CHILD, 0, 10)) == (other,)


def test_what_may_be_swept_is_what_core_says(tables: SqliteTables) -> None:
    rows = [session(key) for key in KEYS]
    rows[-1] = rows[-1]._replace(facts=Facts(kind=SessionKind.CRON))
    for row in rows:
        drive(tables.insert_session(row))
    expected = {row.key: sort for row in rows if (sort := sort_of(row)) is not None}
    assert {one.key: one.sort for one in drive(tables.sweepable(NOON + 1))} == expected
    assert drive(tables.sweepable(NOON)) == ()


def test_what_has_work_or_a_pin_may_not_be_swept(tables: SqliteTables) -> None:
    hook, pinned, free = (SessionKey.parse(f"agent:main:hook:{name}") for name in "abc")
    for key in (hook, pinned, free):
        open_session(tables, key)
    drive(tables.insert_delivery(delivery("d-1", hook), OWNER))
    row = session(pinned)
    drive(tables.update_session(row, row._replace(times=row.times._replace(pinned=NOON))))
    assert drive(tables.has_work(hook))
    assert drive(tables.sweepable(NOON + 1)) == (Candidate(key=free, sort=Sort.SYNTHETIC, updated=NOON),)


def test_a_key_that_is_damaged_is_told_as_damage(connection: apsw.Connection, tables: SqliteTables) -> None:
    open_session(tables, KEYS[1])
    connection.execute("UPDATE sessions SET key = 'agent:'")
    with pytest.raises(StoreCorrupt):
        drive(tables.sweepable(NOON + 1))


def test_the_size_of_a_session_is_that_of_its_own_texts(tables: SqliteTables) -> None:
    for key in (MAIN, CHILD):
        open_session(tables, key)
        entry = Entry(session_id=f"{key}-1", seq=1, id="e", body=said("e", "é" * 100).body)
        drive(tables.insert_entries(key, (entry,)))
    size = drive(tables.session_bytes(MAIN))
    assert 200 < size < 500
    full = drive(tables.fullness())
    assert (full.sessions, full.kept) == (2, 2)
    assert full.bytes > 2 * size


def test_a_generation_that_was_removed_is_forgotten(writer_tables: WriterTables) -> None:
    tables = writer_tables
    open_session(tables)
    entry = Entry(session_id=f"{MAIN}-1", seq=1, id="e", body=said("e", "zebra").body)
    drive(tables.insert_entries(MAIN, (entry,)))
    drive(tables.delete_generation(f"{MAIN}-1"))
    assert drive(tables.generations(MAIN)) == ()
    drive(tables.insert_generation(generation(MAIN, f"{MAIN}-1", 2)))
    drive(tables.insert_entries(MAIN, (entry,)))
    assert drive(tables.entries(f"{MAIN}-1", 0, None)) == (entry,)
    assert drive(tables.last_generation(MAIN)) == 2


def test_unused_pages_are_given_back_a_few_at_a_time(
    connection: apsw.Connection, tables: SqliteTables
) -> None:
    open_session(tables)
    entry = Entry(session_id=f"{MAIN}-1", seq=1, id="e", body=said("e", "x" * 100_000).body)
    drive(tables.insert_entries(MAIN, (entry,)))
    drive(tables.delete_session(MAIN))
    free, size = connection.pragma("freelist_count"), connection.pragma("page_size")
    assert drive(tables.free_pages(5)) == 5 * size
    assert drive(tables.free_pages(10_000)) == (free - 5) * size
    assert drive(tables.free_pages(5)) == 0


@pytest.mark.requirement("P22")
async def test_space_that_is_given_back_makes_the_file_smaller(tmp_path: Path) -> None:
    path, hook = tmp_path / "space.db", KEYS[3]
    store = SqliteStore.open(path, FakeClock())
    await store.acquire_lease(Gateway(name="here", holder="process-1"))
    await store.change_session(hook, lambda snapshot: (opening(session(hook), "s-2"),))
    await store.append(hook, (said("e-1", "x" * 2_000_000),))
    assert await store.give_back() == 0
    await store.sweep(Cutoffs(synthetic_before=NOON + 1))
    assert await store.give_back() > 1_900_000
    assert size(path) < 1_000_000
    await store.close()


def size(path: Path) -> int:
    return path.stat().st_size
