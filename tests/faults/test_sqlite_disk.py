"""A full disk and I/O errors at every call of a small scenario, on one store that is never reopened."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from roost.core.effects import Effects
from roost.core.entries import Entry
from roost.core.errors import StoreUnavailable
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.queries import SearchQuery
from roost.core.search import parse_query
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.store import SqliteOptions
from roost.testing.builders import MAIN, accept, inbound, opening, said, session
from roost.testing.clock import FakeClock
from roost.testing.faultydisk import (
    NO_SPACE,
    READ_ERROR,
    SYNC_ERROR,
    WRITE_ERROR,
    DiskCall,
    Fault,
    FaultyDisk,
)
from tests import scale

SECOND = SessionKey.named("main", "second")
CALLERS = 6
# More than SQLite keeps in memory, so that a transaction reaches the disk before its commit.
HUGE = "All of this belongs to one message. " * 150_000
WRITES = frozenset({DiskCall.WRITE, DiskCall.TRUNCATE})
SYNCS = frozenset({DiskCall.SYNC})
FAULTS = [
    pytest.param(Fault(code=NO_SPACE, calls=WRITES, lasts=True), id="the disk is full"),
    pytest.param(Fault(code=NO_SPACE, calls=WRITES), id="the disk was full for a moment"),
    pytest.param(Fault(code=WRITE_ERROR, calls=WRITES), id="a write fails"),
    pytest.param(Fault(code=SYNC_ERROR, calls=SYNCS), id="a sync fails"),
    pytest.param(Fault(code=SYNC_ERROR, calls=SYNCS | WRITES, lasts=True), id="nothing can be written"),
]


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk("faulty")
    yield disk
    disk.unregister()


@pytest.fixture
async def store(tmp_path: Path, disk: FaultyDisk) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "roost.db", FakeClock(), options=SqliteOptions(vfs=disk.name))
    await store.acquire_lease(Gateway(name="gateway", holder="process"))
    for key in (MAIN, SECOND):
        await store.change_session(key, lambda snapshot: open_effects(snapshot.key))
    yield store
    disk.heal()
    await store.close()
    again = SqliteStore.open(tmp_path / "roost.db", FakeClock())
    assert await again.check() == ()
    await again.close()


def open_effects(key: SessionKey) -> Effects:
    return (opening(session(key), f"id-{key}"),)


async def attempt(store: SqliteStore, name: str) -> tuple[set[str], set[str]]:
    """Concurrent callers of one batch: what was acknowledged, and what was refused."""
    names = [f"{name}-{caller}" for caller in range(CALLERS)]
    messages = [inbound(f"in-{name}", (MAIN, SECOND)[i % 2]) for i, name in enumerate(names)]
    answers = await asyncio.gather(
        *(store.append((MAIN, SECOND)[i % 2], (said(name, "word " * 60),)) for i, name in enumerate(names)),
        *(store.accept_inbound(message, accept(message, f"run-{message.id}", "")) for message in messages),
        return_exceptions=True,
    )
    kept: set[str] = set()
    refused: set[str] = set()
    for name_, answer in zip([*names, *(message.id for message in messages)], answers, strict=True):
        assert not isinstance(answer, BaseException) or isinstance(answer, StoreUnavailable), repr(answer)
        (refused if isinstance(answer, BaseException) else kept).add(name_)
    return kept, refused


async def everything(store: SqliteStore) -> list[Entry]:
    return [entry for key in (MAIN, SECOND) for entry in await store.entries(f"id-{key}")]


async def present(store: SqliteStore, names: set[str]) -> set[str]:
    """Which of these the store has, as entries or as messages."""
    entries = {entry.id for entry in await everything(store)}
    return {name for name in names if name in entries or await store.inbound(name) is not None}


@pytest.mark.parametrize("fault", FAULTS)
async def test_what_fails_leaves_nothing_and_the_store_goes_on(
    store: SqliteStore, disk: FaultyDisk, fault: Fault
) -> None:
    kept: set[str] = set()
    for at in count(1):
        disk.break_down(Fault(code=fault.code, calls=fault.calls, lasts=fault.lasts, at=at))
        acknowledged, refused = await attempt(store, f"try-{at}")
        struck = disk.struck
        disk.heal()
        kept |= acknowledged
        assert await present(store, acknowledged | refused) == acknowledged
        assert await store.check() == ()
        if not struck:
            assert not refused
            break
    assert at > 1, "the fault never struck"
    assert await present(store, kept) == kept


@pytest.mark.parametrize("fault", FAULTS[:3])
async def test_a_transaction_that_sqlite_ended_in_the_middle_fails_the_whole_batch(
    store: SqliteStore, disk: FaultyDisk, fault: Fault
) -> None:
    for at in range(1, 2_500, scale.count(400, 25)):
        with disk.held_syncs() as waiting:
            first = asyncio.gather(store.append(MAIN, (said(f"first-{at}", "on its way"),)))
            assert await asyncio.to_thread(waiting.wait, 10)
            disk.break_down(Fault(code=fault.code, calls=fault.calls, lasts=fault.lasts, at=at))
            batch = asyncio.gather(
                store.append(MAIN, (said(f"small-{at}", "beside it"),)),
                store.append(MAIN, (said(f"huge-{at}", HUGE),)),
                store.append(SECOND, (said(f"after-{at}", "after it"),)),
                return_exceptions=True,
            )
            await asyncio.sleep(0)
        assert [type(answer) for answer in await batch] == [StoreUnavailable] * 3
        disk.heal()
        await first
    assert {entry.id.partition("-")[0] for entry in await everything(store)} == {"first"}
    await store.append(MAIN, (said("once more", "beside it"),))
    hits = await store.search(SearchQuery(query=parse_query("beside")))
    assert [hit.entry.id for hit in hits] == ["once more"]


async def test_a_caller_without_its_commit_can_try_the_same_again(
    store: SqliteStore, disk: FaultyDisk
) -> None:
    message = inbound("in-1", MAIN)
    disk.break_down(Fault(code=NO_SPACE, calls=WRITES, lasts=True))
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="no space"):
            await store.accept_inbound(message, accept(message, "run-1", ""))
    disk.heal()
    accepted = await store.accept_inbound(message, accept(message, "run-1", ""))
    assert not accepted.duplicate


async def test_a_read_that_fails_is_told_and_the_next_one_works(store: SqliteStore, disk: FaultyDisk) -> None:
    await store.append(MAIN, tuple(said(f"e-{number}", HUGE[:50_000]) for number in range(100)))
    disk.break_down(Fault(code=READ_ERROR, calls=frozenset({DiskCall.READ}), lasts=True))
    with pytest.raises(StoreUnavailable):
        await store.entries(f"id-{MAIN}")
    disk.heal()
    assert len(await store.entries(f"id-{MAIN}")) == 100


async def test_a_log_that_cannot_be_moved_into_the_file_troubles_no_caller(
    store: SqliteStore, disk: FaultyDisk
) -> None:
    size = store.path.stat().st_size
    disk.break_down(Fault(code=NO_SPACE, calls=WRITES | SYNCS, suffix=".db", lasts=True))
    for number in range(40):
        await store.append(MAIN, (said(f"e-{number}", HUGE[:200_000]),))
    assert disk.struck
    assert store.path.stat().st_size == size
    disk.heal()
    # It is moved beside the writer, a batch after which it was to be.
    later = 40
    while store.path.stat().st_size <= 40 * 200_000:
        await store.append(MAIN, (said(f"e-{later}", "space again"),))
        later += 1
    assert len(await store.entries(f"id-{MAIN}")) == later
    assert await store.check() == ()
