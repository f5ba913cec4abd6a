"""Much to do at once: a lease is renewed whatever waits, and upkeep lets others in."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from roost.core.effects import Effects
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.queries import SessionQuery
from roost.core.retention import Cutoffs
from roost.core.snapshots import Snapshot
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.store import SqliteOptions
from roost.stores.sqlite.writer import BATCH, WAITING
from roost.stores.verbs.retention import STEP
from roost.testing.builders import MAIN, opening, said, session
from roost.testing.clock import NOON, FakeClock
from roost.testing.faultydisk import FaultyDisk

HOOKS = [SessionKey.parse(f"agent:main:hook:{number}") for number in range(6 * STEP)]


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk("crowd")
    yield disk
    disk.unregister()


@pytest.fixture
async def store(tmp_path: Path, disk: FaultyDisk) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "roost.db", FakeClock(), options=SqliteOptions(vfs=disk.name))
    yield store
    await store.close()


@pytest.fixture
async def lease(store: SqliteStore) -> Lease:
    lease = await store.acquire_lease(Gateway(name="gateway", holder="process"))
    await store.change_session(MAIN, lambda snapshot: (opening(session(), "s-1"),))
    return lease


async def test_a_lease_is_renewed_before_everything_that_waits(store: SqliteStore, lease: Lease) -> None:
    begun, going_on = threading.Event(), threading.Event()

    def take_long(snapshot: Snapshot) -> Effects:
        begun.set()
        going_on.wait(10)
        return ()

    async def append(number: int) -> None:
        await store.append(MAIN, (said(f"e-{number}", "hello"),))
        done.append("entry")

    async def renew() -> None:
        await store.renew_lease(lease)
        done.append("lease")

    done: list[str] = []
    long = asyncio.gather(store.change_session(MAIN, take_long))
    assert await asyncio.to_thread(begun.wait, 10)
    crowd = asyncio.gather(*map(append, range(WAITING + BATCH)))
    await asyncio.sleep(0)
    renewing = asyncio.gather(renew())
    await asyncio.sleep(0)
    going_on.set()
    await asyncio.gather(long, crowd, renewing)
    assert done[0] == "lease"
    assert len(done) == WAITING + BATCH + 1


async def test_a_sweep_of_much_lets_others_write_meanwhile(
    store: SqliteStore, lease: Lease, disk: FaultyDisk
) -> None:
    effects = tuple(opening(session(key), f"s of {key}") for key in HOOKS)
    await store.change_session(MAIN, lambda snapshot: effects)
    with disk.held_syncs() as waiting:
        sweeping = asyncio.gather(store.sweep(Cutoffs(synthetic_before=NOON + 1)))
        assert await asyncio.to_thread(waiting.wait, 10)
        appending = asyncio.gather(store.append(MAIN, (said("e-1", "hello"),)))
        await asyncio.sleep(0)
    await appending
    with disk.held_syncs():
        left = await store.list_sessions(SessionQuery(limit=len(HOOKS) + 1))
    assert 1 < len(left.rows) <= 1 + len(HOOKS) - STEP
    (swept,) = await sweeping
    assert len(swept.sessions) == len(HOOKS)
    assert await store.check() == ()
