import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import apsw
import pytest

from roost.core.errors import Fenced, LeaseHeld, NotFound, StoreCorrupt, StoreUnavailable
from roost.core.keys import SessionKey
from roost.core.leases import LEASE_MS, Gateway
from roost.core.queries import LedgerQuery, SearchQuery
from roost.core.runs import Step, StepKind
from roost.core.search import parse_query
from roost.ports import Topic, TopicKind
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.store import SqliteOptions
from roost.testing.builders import MAIN, accept, done, inbound, opening, said, session
from roost.testing.clock import FakeClock
from roost.testing.faultydisk import FaultyDisk
from roost.testing.powercut import PowerCutDisk
from tests.scale import examples

HERE = Gateway(name="here", holder="process-1")
THERE = Gateway(name="there", holder="process-2")
NEWS = Topic(TopicKind.SESSION, str(MAIN))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk("store")
    yield disk
    disk.unregister()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "roost.db"


@pytest.fixture
async def store(path: Path, clock: FakeClock, disk: FaultyDisk) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(path, clock, options=SqliteOptions(vfs=disk.name))
    await store.acquire_lease(HERE)
    await store.change_session(MAIN, lambda snapshot: (opening(session(), "s-1"),))
    yield store
    await store.close()


async def ids(store: SqliteStore) -> list[str]:
    return [entry.id for entry in await store.entries("s-1")]


# -- the file ----------------------------------------------------------------------------------------


async def test_what_it_creates_only_its_owner_may_read(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "state" / "roost.db"
    store = SqliteStore.open(path, clock)
    await store.acquire_lease(HERE)
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    await store.close()
    assert modes == {"roost.db": 0o600, "roost.db-wal": 0o600, "roost.db-shm": 0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_place_where_no_file_can_be_made_is_told(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(StoreUnavailable, match="cannot be created"):
        SqliteStore.open(tmp_path / "taken" / "roost.db", clock)


AUDIT = """
import asyncio, sys
from pathlib import Path
from roost.core.leases import Gateway
from roost.stores.sqlite import SqliteStore
from roost.testing.builders import MAIN, opening, said, session
from roost.testing.clock import FakeClock

path = Path(sys.argv[1])
opened = []
sys.addaudithook(lambda event, details: opened.append(str(details[0])) if event == "open" else None)

async def live():
    store = SqliteStore.open(path, FakeClock())
    opened.clear()
    await store.acquire_lease(Gateway(name="here", holder="process"))
    await store.change_session(MAIN, lambda snapshot: (opening(session(), "s-1"),))
    await store.append(MAIN, (said("e-1", "hello"),))
    await store.entries("s-1")
    assert await store.check() == ()
    await store.backup(path.with_name("copy.db"))
    await store.close()

asyncio.run(live())
print([name for name in opened if name.startswith(str(path))])
"""


def test_nothing_but_sqlite_opens_the_file_while_it_is_open(path: Path) -> None:
    """Closing any other handle to it would drop SQLite's locks."""
    audit = subprocess.run(
        [sys.executable, "-c", AUDIT, path], capture_output=True, text=True, check=True, timeout=60
    )
    assert audit.stdout.strip() == "[]"


async def test_closing_leaves_one_file_and_no_thread(path: Path, clock: FakeClock) -> None:
    store = SqliteStore.open(path, clock)
    await store.acquire_lease(HERE)
    await store.gateways()
    await store.close()
    assert [file.name for file in path.parent.iterdir()] == ["roost.db"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("roost-")]


async def test_after_closing_nothing_is_read_or_written(path: Path, clock: FakeClock) -> None:
    store = SqliteStore.open(path, clock)
    await store.acquire_lease(HERE)
    await store.close()
    for verb in (store.gateways(), store.check(), store.append(MAIN, ()), store.acquire_lease(HERE)):
        with pytest.raises(StoreUnavailable, match="closed"):
            await verb
    await store.close()


async def test_closing_wakes_those_who_wait(path: Path, clock: FakeClock) -> None:
    store = SqliteStore.open(path, clock)
    asked = 0

    async def check() -> str | None:
        nonlocal asked
        asked += 1
        return None if asked == 1 else "the store was closed"

    waiting = asyncio.gather(store.wait_for(NEWS, check))
    await asyncio.sleep(0)
    await store.close()
    (answer,) = await waiting
    assert answer == "the store was closed"


async def test_a_disk_that_died_is_told_at_the_end_and_let_go(path: Path, clock: FakeClock) -> None:
    disk = PowerCutDisk("dead")
    store = SqliteStore.open(path, clock, options=SqliteOptions(vfs=disk.name))
    await store.acquire_lease(HERE)
    disk.cut()
    with pytest.raises(StoreUnavailable):
        await store.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("roost-")]
    disk.unregister()


async def test_a_copy_is_taken_beside_the_work(store: SqliteStore, path: Path, clock: FakeClock) -> None:
    await store.append(MAIN, (said("e-1", "hello"),))
    await store.backup(path.with_name("copy.db"))
    await store.append(MAIN, (said("e-2", "hello"),))
    copy = SqliteStore.open(path.with_name("copy.db"), clock)
    assert await ids(copy) == ["e-1"]
    await copy.close()


def damage(path: Path, chance: Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(40):
        start = chance.randrange(len(content))
        content[start : start + 30] = chance.randbytes(len(content[start : start + 30]))
    path.write_bytes(content)


@pytest.mark.parametrize("seed", range(examples(10, 300)))
async def test_a_damaged_file_is_told_as_damaged_and_crashes_nothing(
    store: SqliteStore, path: Path, clock: FakeClock, seed: int
) -> None:
    await store.append(MAIN, tuple(said(f"e-{number}", "what was said " * 30) for number in range(100)))
    await store.close()
    damage(path, Random(seed))
    with suppress(StoreCorrupt, StoreUnavailable):
        damaged = SqliteStore.open(path, clock)
        for reading in (
            damaged.check(),
            damaged.session(MAIN),
            damaged.entries("s-1"),
            damaged.events(MAIN, after=0, limit=1_000),
            damaged.search(SearchQuery(query=parse_query("said"))),
            damaged.acquire_lease(HERE),
            damaged.append(MAIN, (said("more", "hello"),)),
        ):
            with suppress(StoreCorrupt, StoreUnavailable, Fenced, NotFound):
                await reading
        await damaged.close()


# -- the lease ---------------------------------------------------------------------------------------


async def test_nothing_is_written_before_the_lease_is_held(path: Path, clock: FakeClock) -> None:
    store = SqliteStore.open(path, clock)
    with pytest.raises(Fenced, match="without a lease") as refused:
        await store.change_session(MAIN, lambda snapshot: (opening(session(), "s-1"),))
    assert refused.value.hint == "acquire the lease before writing"
    assert await store.session(MAIN) is None
    assert await store.usage(LedgerQuery()) is not None
    await store.close()


@pytest.mark.requirement("P30")
async def test_a_store_whose_lease_another_took_writes_nothing(
    store: SqliteStore, path: Path, clock: FakeClock
) -> None:
    other = SqliteStore.open(path, clock)
    with pytest.raises(LeaseHeld, match="here"):
        await other.acquire_lease(THERE)
    clock.advance(LEASE_MS)
    await other.acquire_lease(THERE)
    with pytest.raises(Fenced, match="new owner"):
        await store.append(MAIN, (said("late", "hello"),))
    assert await ids(store) == []
    await other.append(MAIN, (said("e-1", "hello"),))
    await other.close()
    assert await ids(store) == ["e-1"]


@pytest.mark.requirement("P30")
async def test_a_refused_lease_takes_nothing_from_the_one_that_is_held(store: SqliteStore) -> None:
    with pytest.raises(LeaseHeld):
        await store.acquire_lease(THERE)
    await store.append(MAIN, (said("e-1", "hello"),))


async def test_after_its_lease_was_released_a_store_writes_nothing(store: SqliteStore) -> None:
    lease = await store.acquire_lease(HERE)
    lease = await store.renew_lease(lease)
    await store.release_lease(replace(lease, epoch=lease.epoch - 1))
    await store.append(MAIN, (said("e-1", "hello"),))
    await store.release_lease(lease)
    with pytest.raises(Fenced, match="without a lease"):
        await store.append(MAIN, (said("e-2", "hello"),))


async def test_a_lease_won_back_starts_from_what_is_stored(
    store: SqliteStore, path: Path, clock: FakeClock
) -> None:
    """Rows this store remembers from before are of no use: another wrote meanwhile."""
    await store.append(MAIN, (said("e-1", "hello"),))
    other = SqliteStore.open(path, clock)
    clock.advance(LEASE_MS)
    await other.acquire_lease(THERE)
    await other.append(MAIN, (said("e-2", "hello"),))
    await other.close()
    clock.advance(LEASE_MS)
    await store.acquire_lease(HERE)
    (entry,) = await store.append(MAIN, (said("e-3", "hello"),))
    assert entry.seq == 3
    assert await store.check() == ()


# -- group commit ------------------------------------------------------------------------------------


async def test_readers_see_nothing_before_it_is_committed(store: SqliteStore, disk: FaultyDisk) -> None:
    with disk.held_syncs() as waiting:
        writing = asyncio.gather(store.append(MAIN, (said("e-1", "hello"),)))
        assert await asyncio.to_thread(waiting.wait, 10)
        assert await ids(store) == []
        assert await store.events(MAIN, after=1, limit=10) == ()
        assert not writing.done()
    await writing
    assert await ids(store) == ["e-1"]


async def test_news_is_told_after_its_commit(store: SqliteStore, disk: FaultyDisk) -> None:
    looks: list[list[str]] = []
    looked = asyncio.Event()

    async def check() -> list[str] | None:
        looks.append(await ids(store))
        looked.set()
        return looks[-1] or None

    waiter = asyncio.gather(store.wait_for(NEWS, check))
    await looked.wait()
    with disk.held_syncs() as waiting:
        writing = asyncio.gather(store.append(MAIN, (said("e-1", "hello"),)))
        assert await asyncio.to_thread(waiting.wait, 10)
        assert not waiter.done()
    await writing
    (found,) = await waiter
    assert found == ["e-1"]
    assert looks == [[], ["e-1"]]


async def test_a_verb_that_fails_takes_no_neighbour_with_it(store: SqliteStore, disk: FaultyDisk) -> None:
    with disk.held_syncs() as waiting:
        first = asyncio.gather(store.append(MAIN, (said("first", "hello"),)))
        assert await asyncio.to_thread(waiting.wait, 10)
        batch = asyncio.gather(
            store.append(MAIN, (said("a", "hello"),)),
            store.append(SessionKey.named("main", "absent"), (said("x", "hello"),)),
            store.append(MAIN, (said("b", "hello"),)),
            return_exceptions=True,
        )
        await asyncio.sleep(0)
    await first
    assert [type(answer) for answer in await batch] == [tuple, NotFound, tuple]
    assert await ids(store) == ["first", "a", "b"]


@pytest.mark.requirement("P4")
async def test_tasks_that_append_to_one_session_are_kept_in_the_order_they_came(store: SqliteStore) -> None:
    async def append(task: int) -> list[int]:
        seqs = []
        for number in range(5):
            (entry,) = await store.append(MAIN, (said(f"{task}-{number}", "hello"),))
            seqs.append(entry.seq)
        return seqs

    seqs = await asyncio.gather(*map(append, range(64)))
    assert sorted(seq for row in seqs for seq in row) == list(range(1, 321))
    for number in range(5):
        assert [row[number] for row in seqs] == sorted(row[number] for row in seqs)
    stored = await store.entries("s-1")
    assert {entry.id: entry.seq for entry in stored} == {
        f"{task}-{number}": seq for task, row in enumerate(seqs) for number, seq in enumerate(row)
    }


@pytest.mark.requirement("P4")
async def test_a_model_call_that_hangs_holds_up_nobody(store: SqliteStore) -> None:
    message = inbound("in-1")
    await store.accept_inbound(message, accept(message, "run-1", ""))
    lease = await store.acquire_lease(HERE)
    (run,) = await store.claim_runs(lease, lambda backlog: ("run-1",))
    assert run.claim is not None
    hanging, answered = asyncio.Event(), asyncio.Event()

    async def call_model() -> None:
        assert run.claim is not None
        await store.take_inputs(run.claim, lambda records: (said("e-0", "hello"),))
        await store.begin_step(run.claim, Step(kind=StepKind.MODEL, at=0))
        hanging.set()
        await answered.wait()
        await store.finish_run(run.claim, lambda snapshot: (done("run-1"),))

    calling = asyncio.gather(call_model())
    await hanging.wait()
    tasks = range(1, 201)
    entries = await asyncio.gather(*(store.append(MAIN, (said(f"e-{task}", "hello"),)) for task in tasks))
    assert [entry.seq for (entry,) in entries] == [task + 1 for task in tasks]
    assert not calling.done()
    answered.set()
    await calling
    assert await ids(store) == ["e-0", *(f"e-{task}" for task in tasks)]


# -- check -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE sessions SET entries = 7", f"miscounted_sessions: {MAIN}"),
        ("DELETE FROM entries WHERE seq = 1", "gapped_generations: s-1"),
        ("DELETE FROM events WHERE number = 2", f"gapped_events: {MAIN}"),
        ("UPDATE sessions SET events = 9", f"gapped_events: {MAIN}"),
        ("UPDATE generations SET session = 99", "reference: ('generations', 1, 'sessions', 0)"),
        ("DELETE FROM entry_search_data WHERE id > 10", "integrity: "),
    ],
)
async def test_rows_that_contradict_each_other_are_told(
    store: SqliteStore, path: Path, change: str, told: str
) -> None:
    await store.append(MAIN, (said("e-1", "hello"), said("e-2", "again")))
    assert await store.check() == ()
    intruder = apsw.Connection(str(path))
    intruder.execute(change)
    intruder.close()
    assert any(fault.startswith(told) for fault in await store.check())
