"""Copies taken under a load that never pauses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from roost.core.errors import InvalidInput
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.connection import open_writer
from roost.testing.clock import FakeClock
from tests.faults.load import KEYS, Load, judge
from tests.scale import count

WRITERS = 8
WARM = 300
BALLAST = 32_000_000


@asynccontextmanager
async def busy_store(path: Path) -> AsyncIterator[SqliteStore]:
    """A store that is written to from before the first line of the block until after its last."""
    store = SqliteStore.open(path, FakeClock())
    warm, written = anyio.Event(), 0

    def acknowledged(fact: object) -> None:
        nonlocal written
        written += 1
        if written == WARM:
            warm.set()

    async with anyio.create_task_group() as group:
        group.start_soon(Load(store, "life", acknowledged).run, WRITERS)
        await warm.wait()
        yield store
        group.cancel_scope.cancel()
    await store.close()


def weigh_down(path: Path) -> None:
    """Make the file so large that a copy takes many steps, with commits between them."""
    connection = open_writer(path)
    connection.execute("CREATE TABLE ballast (weight); INSERT INTO ballast VALUES (zeroblob(?))", (BALLAST,))
    connection.close()


async def ids(store: SqliteStore) -> dict[str, list[str]]:
    return {str(key): [entry.id for entry in await store.entries(f"id-{key}")] for key in KEYS}


async def test_a_copy_taken_while_writing_is_sound_and_a_prefix_of_what_follows(tmp_path: Path) -> None:
    weigh_down(tmp_path / "roost.db")
    async with busy_store(tmp_path / "roost.db") as busy:
        for number in range(count(3, 30)):
            before = await ids(busy)
            path = tmp_path / f"copy-{number}.db"
            await busy.backup(path)
            assert path.stat().st_mode & 0o777 == 0o600
            await judge(path, set())
            copy = SqliteStore.open(path, FakeClock())
            copied, after = await ids(copy), await ids(busy)
            await copy.close()
            for key, entries in copied.items():
                assert entries == after[key][: len(entries)]
                assert before[key] == entries[: len(before[key])]
            assert sum(map(len, after.values())) > sum(map(len, before.values())), "the load had stopped"


async def test_a_copy_over_a_file_that_exists_is_refused(tmp_path: Path) -> None:
    async with busy_store(tmp_path / "roost.db") as busy:
        await busy.backup(tmp_path / "copy.db")
        content = (tmp_path / "copy.db").read_bytes()
        for taken in (tmp_path / "copy.db", busy.path):
            with pytest.raises(InvalidInput):
                await busy.backup(taken)
        assert (tmp_path / "copy.db").read_bytes() == content
