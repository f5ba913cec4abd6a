import logging
from functools import partial

import anyio
import pytest

from roost.core import guests
from roost.core.figures import DAY_MS
from roost.core.keys import SessionKey
from roost.core.queries import SessionQuery
from roost.core.retention import Cutoffs, Disk, Retention, Swept
from roost.engine.rulebook import Rulebook
from roost.engine.rules import Housekeeping, Rules
from roost.engine.sweeper import EVERY_MS, FIRST_MS, NAMED, Sweeper
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from tests.unit.core.test_guests import knocking
from tests.unit.engine.scenes import HOME, Scene
from tests.waiting import until_all_wait

HOOK = SessionKey.parse("agent:main:hook:old")
CHILD = SessionKey.parse("agent:main:subagent:old")


class Counting(MemoryStore):
    """Remembers when it was swept, and how often it gave space back."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.swept_at: list[int] = []
        self.given_back = 0

    async def sweep(self, cutoffs: Cutoffs, *, dry_run: bool = False) -> Swept:
        if not dry_run:
            self.swept_at.append(self._clock.now())
        return await super().sweep(cutoffs, dry_run=dry_run)

    async def give_back(self) -> int:
        self.given_back += 1
        return await super().give_back()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(clock: FakeClock) -> Counting:
    store = Counting(clock)
    await store.acquire_lease(HOME)
    for key in (HOOK, CHILD):
        opening = builders.opening(builders.session(key), f"s of {key}")
        await store.change_session(key, lambda snapshot, opening=opening: (opening,))  # type: ignore[misc]
    return store


def sweeping(store: Counting, clock: FakeClock, retention: Retention) -> Sweeper:
    return Sweeper(store, clock, Rulebook(Rules(cast=Scene().cast, house=Housekeeping(retention=retention))))


async def left(store: MemoryStore, *, archived: bool | None = None) -> set[SessionKey]:
    return {row.key for row in (await store.list_sessions(SessionQuery(archived=archived))).rows}


async def test_it_sweeps_soon_and_then_every_few_minutes(store: Counting, clock: FakeClock) -> None:
    began = clock.now()
    async with anyio.create_task_group() as group:
        group.start_soon(sweeping(store, clock, Retention()).serve)
        for wait in (FIRST_MS, EVERY_MS, EVERY_MS):
            await until_all_wait()
            clock.advance(wait)
        await until_all_wait()
        group.cancel_scope.cancel()
    assert [at - began for at in store.swept_at] == [FIRST_MS, FIRST_MS + EVERY_MS, FIRST_MS + 2 * EVERY_MS]


@pytest.mark.requirement("P22")
async def test_what_is_past_its_time_goes_within_one_sweep_and_its_space_is_given_back(
    store: Counting, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    sweeps = sweeping(store, clock, Retention())
    clock.advance(30 * DAY_MS)
    assert (await sweeps.sweep()).sessions == ()
    clock.advance(1)
    would = await sweeps.preview()
    assert would.sessions == (HOOK, CHILD)
    assert await sweeps.sweep() == would
    assert await left(store) == set()
    assert store.given_back > 0
    assert "removed 2 sessions (agent:main:hook:old, agent:main:subagent:old)" in caplog.text


async def test_nothing_is_given_back_when_nothing_went(store: Counting, clock: FakeClock) -> None:
    await sweeping(store, clock, Retention()).sweep()
    assert store.given_back == 0


@pytest.mark.requirement("P22")
async def test_a_policy_that_only_warns_tells_and_removes_no_session(
    store: Counting, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    clock.advance(31 * DAY_MS)
    swept = await sweeping(store, clock, Retention(enforce=False)).sweep()
    assert await left(store) == {HOOK, CHILD}
    assert swept.archived == (CHILD,)
    assert "would remove 2 sessions" in caplog.text
    assert await store.events(HOOK, after=0, limit=9) == ()


async def test_a_disk_that_stays_too_full_is_told(
    store: Counting, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    key = SessionKey.parse("agent:main:main")
    await store.change_session(key, lambda snapshot: (builders.opening(builders.session(key), "s-1"),))
    await store.append(key, (builders.said("e-1", "x" * 1_000),))
    await sweeping(store, clock, Retention(disk=Disk(most=10, goal=5))).sweep()
    assert "over its goal" in caplog.text
    assert key in await left(store)


async def test_of_many_the_first_few_are_named(
    store: Counting, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for number in range(NAMED):
        key = SessionKey.parse(f"agent:main:hook:z{number:02}")
        opening = builders.opening(builders.session(key), f"s of {key}")
        await store.change_session(key, lambda snapshot, opening=opening: (opening,))  # type: ignore[misc]
    clock.advance(31 * DAY_MS)
    await sweeping(store, clock, Retention()).sweep()
    assert f"removed {NAMED + 2} sessions" in caplog.text
    assert "…" in caplog.text


async def test_who_asked_to_be_let_in_too_long_ago_is_forgotten(store: Counting, clock: FakeClock) -> None:
    for who, ago in (("7", guests.ASKING_MS), ("8", guests.ASKING_MS - 1)):
        asks = partial(guests.knock, wanted=knocking(who, at=clock.now() - ago))
        await store.change_guests(asks)
    await sweeping(store, clock, Retention()).sweep()
    assert [one.identity.id for one in (await store.guests()).asking] == ["8"]
