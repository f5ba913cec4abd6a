"""A gateway that runs long enough for things to be past their time."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roost.core.effects import Pin
from roost.core.figures import DAY_MS
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.queries import HistoryQuery, SessionQuery
from roost.stores.sqlite import SqliteStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from roost.testing.scripts import Say
from tests.flows.gateways import Bench

HOOKS = tuple(SessionKey.parse(f"agent:main:hook:{number:03}") for number in range(60))
MAIN = SessionKey.named("main", "main")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "flow.db"


@pytest.fixture
async def bench(path: Path) -> AsyncIterator[Bench]:
    clock = FakeClock()
    store = SqliteStore.open(path, clock, database_clock=FakeClock())
    yield Bench(store, clock)
    await store.close()


def size(path: Path) -> int:
    return path.stat().st_size


async def plant(bench: Bench) -> None:
    """Many sessions of hooks, each with much to say; the first one pinned."""
    await bench.store.acquire_lease(Gateway(name="flow", holder="before"))
    for number, key in enumerate(HOOKS):
        opening = builders.opening(builders.session(key), f"s-{number}")
        await bench.store.change_session(key, lambda snapshot, opening=opening: (opening,))  # type: ignore[misc]
        words = " ".join(f"word{number}x{place}" for place in range(2_000))
        await bench.store.append(key, (builders.said(f"e-{number}", words),))
    await bench.store.change_session(HOOKS[0], lambda snapshot: (Pin(key=HOOKS[0], at=0),))


@pytest.mark.requirement("P22")
async def test_after_a_sweep_the_file_is_smaller_and_what_people_said_is_there(
    bench: Bench, path: Path
) -> None:
    clock = bench.clock
    assert isinstance(clock, FakeClock)
    await plant(bench)
    clock.advance(31 * DAY_MS)
    bench.model.add((Say("Hello."),))
    async with bench.serving() as (engine, _):
        await bench.say("hi")
        await bench.replies()
        would = await engine.sweeper.preview()
        assert would.sessions == HOOKS[1:]
        before = size(path)
        assert await engine.sweeper.sweep() == would
        assert size(path) < before // 3
        assert engine.health().ok
        page = await bench.store.history(HistoryQuery(key=MAIN))
        assert len(page.entries) == 2
    kept = {row.key for row in (await bench.store.list_sessions(SessionQuery())).rows}
    assert kept == {HOOKS[0], MAIN}
    assert await bench.store.check() == ()
