"""The power fails at a random operation of the disk: what was synced stays, the rest is torn or gone."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import anyio
import anyio.to_thread
import apsw
import pytest

from roost.core.errors import RoostError, StoreUnavailable
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.store import SqliteOptions
from roost.testing.clock import FakeClock
from roost.testing.powercut import PowerCutDisk
from tests.faults.load import Fact, Load, judge, lost
from tests.scale import ROUND, count, seeds

WRITERS = 8
OUTCOMES = 3
LONGEST_LIFE = 4_000
ODDS = 0.03
CHECKPOINTS = ("PASSIVE", "FULL", "RESTART", "TRUNCATE")


@pytest.fixture
def disk() -> Iterator[PowerCutDisk]:
    disk = PowerCutDisk("power-cut")
    yield disk
    disk.unregister()


class Checkpoints:
    """Moves the log into the file far more often than SQLite does by itself, from another connection."""

    def __init__(self, disk: PowerCutDisk, path: Path, chance: Random) -> None:
        self._connection = apsw.Connection(str(path), vfs=disk.name)
        self._chance = chance
        self._due = anyio.Event()

    def consider(self) -> None:
        if self._chance.random() < ODDS:
            self._due.set()

    async def run(self) -> None:
        while True:
            await self._due.wait()
            self._due = anyio.Event()
            mode = self._chance.choice(CHECKPOINTS)
            with suppress(apsw.BusyError, apsw.LockedError, apsw.IOError):
                await anyio.to_thread.run_sync(self._connection.execute, f"PRAGMA wal_checkpoint({mode})")

    def close(self) -> None:
        with suppress(apsw.IOError):
            self._connection.close()


async def live_until_dark(
    disk: PowerCutDisk, folder: Path, chance: Random, options: SqliteOptions
) -> set[Fact]:
    """Everything that was acknowledged before the power failed."""
    facts: set[Fact] = set()
    path = folder / "roost.db"
    store = SqliteStore.open(path, FakeClock(), options=options)
    checkpoints = Checkpoints(disk, path, chance)

    def acknowledged(fact: Fact) -> None:
        facts.add(fact)
        checkpoints.consider()

    disk.cut_at(disk.operations + chance.randrange(1, LONGEST_LIFE))
    async with anyio.create_task_group() as group:
        group.start_soon(checkpoints.run)
        with suppress(StoreUnavailable):
            await Load(store, "life", acknowledged).run(WRITERS)
        group.cancel_scope.cancel()
    checkpoints.close()
    with suppress(StoreUnavailable):
        await store.close()
    return facts


@pytest.mark.parametrize("seed", seeds(20, 300))
async def test_everything_acknowledged_survives_a_power_cut(
    tmp_path: Path, disk: PowerCutDisk, seed: int
) -> None:
    chance = Random(seed)
    facts = await live_until_dark(disk, tmp_path / "before", chance, SqliteOptions(vfs=disk.name))
    for outcome in range(OUTCOMES):
        disk.write_remains(tmp_path / str(outcome), chance)
        await judge(tmp_path / str(outcome) / "roost.db", facts)


async def test_less_than_full_synchronisation_loses_what_was_acknowledged(tmp_path: Path) -> None:
    """The test above can fail: it does as soon as a commit is not synced."""
    for seed in range(20):
        disk = PowerCutDisk("half-hearted")
        chance = Random(seed)
        options = SqliteOptions(vfs=disk.name, synchronous="NORMAL")
        facts = await live_until_dark(disk, tmp_path / str(seed), chance, options)
        disk.unregister()
        disk.write_remains(tmp_path / str(seed) / "after", chance)
        if await lost(tmp_path / str(seed) / "after" / "roost.db", facts):
            return
    pytest.fail("nothing was lost: this disk proves nothing")


async def test_a_power_cut_while_the_file_is_made_leaves_one_that_can_be_made(tmp_path: Path) -> None:
    measure = PowerCutDisk("measure")
    store = SqliteStore.open(tmp_path / "whole.db", FakeClock(), options=SqliteOptions(vfs=measure.name))
    await store.close()
    measure.unregister()
    step = count(7, 1)
    for operation in range(1 + ROUND % step, measure.operations, step):
        disk = PowerCutDisk("creation")
        disk.cut_at(operation)
        folder = tmp_path / str(operation)
        with suppress(RoostError):
            store = SqliteStore.open(folder / "roost.db", FakeClock(), options=SqliteOptions(vfs=disk.name))
            await store.close()
        disk.unregister()
        disk.write_remains(folder / "after", Random(operation))
        await judge(folder / "after" / "roost.db", set())
