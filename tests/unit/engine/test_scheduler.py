from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio
import pytest

from roost.core.effects import AcceptInput, QueueRun
from roost.core.errors import StoreCorrupt
from roost.core.inbound import InputMode
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.runs import Claim, Run, RunState
from roost.core.snapshots import Advance
from roost.core.turntaking import PER_ASKER, Backlog, Choose, Limits
from roost.engine.feed import Feed
from roost.engine.rulebook import Rulebook
from roost.engine.runner import Runner
from roost.engine.scheduler import HELD_LOOKS, POLL_MS, Scheduler
from roost.engine.stops import Stops
from roost.ports import Starter, Store
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from roost.testing.scripts import Hang, Say, Until
from tests.unit.engine.scenes import HOME, Scene
from tests.waiting import until_all_wait


@asynccontextmanager
async def serving(scene: Scene, ceiling: int = 8, store: Store | None = None) -> AsyncIterator[None]:
    store = store or scene.store
    book = Rulebook(replace(scene.rules, limits=Limits(ceiling=ceiling)))
    runner = Runner(store, scene.clock, book, Stops(), Feed(store, scene.clock))
    lease = await store.acquire_lease(HOME)
    async with anyio.create_task_group() as group:
        group.start_soon(Scheduler(store, scene.clock, runner, book).serve, lease, group)
        yield
        group.cancel_scope.cancel()


async def ask(scene: Scene, name: str, *, ready_in: int = 0, requester: SessionKey | None = None) -> None:
    """A message to a session of its own."""
    key = SessionKey.named("main", name)
    message = builders.inbound(name, key)
    run = builders.run(name, key, ready_at=scene.clock.now() + ready_in)
    run = replace(run, request=replace(run.request, requester=requester))
    await scene.store.accept_inbound(
        message,
        lambda snapshot: (
            builders.opening(builders.session(key), f"gen-{name}"),
            QueueRun(run=run),
            AcceptInput(inbound=message, run_id=name, mode=InputMode.OPEN),
        ),
    )


async def test_runs_of_different_sessions_are_under_way_at_once_up_to_the_ceiling() -> None:
    scene = Scene()
    release = anyio.Event()
    scene.model.add((Until(release),), (Hang(),), (Hang(),))
    for name in ("a", "b", "c"):
        await ask(scene, name)
    async with serving(scene, ceiling=2):
        await until_all_wait()
        assert len(scene.model.requests) == 2
        release.set()
        with anyio.fail_after(60):
            await scene.model.asked(3)


async def test_a_crowd_of_one_asker_is_begun_without_waiting_for_the_first_to_end() -> None:
    scene = Scene()
    scene.model.add(*[(Hang(),)] * (2 * PER_ASKER + 1))
    for number in range(2 * PER_ASKER + 1):
        await ask(scene, f"s{number}", requester=builders.MAIN)
    async with serving(scene, ceiling=100):
        with anyio.fail_after(60):
            await scene.model.asked(2 * PER_ASKER + 1)


async def test_room_is_used_as_soon_as_there_is_some() -> None:
    """By news alone: the clock stands still, so nothing here is found by looking now and then."""
    scene = Scene()
    scene.model.add(*[(Say("ok"),)] * 20)
    for number in range(20):
        await ask(scene, f"s{number}")
    async with serving(scene, ceiling=1):
        with anyio.fail_after(60):
            await scene.model.asked(20)


async def test_one_session_has_one_run_at_a_time() -> None:
    scene = Scene()
    release = anyio.Event()
    scene.model.add((Until(release), Say("one")), (Say("two"),))
    await scene.hear("a")
    await scene.hear("b")
    async with serving(scene):
        await until_all_wait()
        assert len(scene.model.requests) == 1
        release.set()
        with anyio.fail_after(60):
            await scene.model.asked(2)


async def test_a_run_that_waits_for_its_moment_is_started_when_it_comes() -> None:
    scene = Scene()
    scene.model.add((Say("now"),))
    await ask(scene, "later", ready_in=2 * POLL_MS)
    async with serving(scene):
        for _ in range(2):
            await until_all_wait()
            assert scene.model.requests == []
            scene.clock.advance(POLL_MS)
        with anyio.fail_after(60):
            await scene.model.asked(1)


class SlowToTell(MemoryStore):
    """Claims at once, and is slow to say so."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.told = anyio.Event()

    async def claim_runs(self, lease: Lease, choose: Choose) -> tuple[Run, ...]:
        claimed = await super().claim_runs(lease, choose)
        if claimed:
            await self.told.wait()
        return claimed


async def test_a_claim_that_is_answered_after_the_poll_is_not_lost() -> None:
    scene = Scene()
    scene.store = store = SlowToTell(scene.clock)
    scene.model.add((Say("found"),))
    await ask(scene, "a")
    async with serving(scene):
        await until_all_wait()
        scene.clock.advance(POLL_MS)
        await until_all_wait()
        store.told.set()
        with anyio.fail_after(60):
            await scene.model.asked(1)


class Unwritable(MemoryStore):
    """Cannot keep the end of a run, however it is told."""

    async def finish_run(self, claim: Claim, advance: Advance) -> Run:
        raise StoreCorrupt("a page is gone")


async def test_a_run_whose_end_cannot_be_kept_keeps_no_other_from_starting() -> None:
    scene = Scene()
    scene.store = Unwritable(scene.clock)
    scene.model.add((Say("lost"),), (Say("also"),))
    for name in ("a", "b"):
        await ask(scene, name)
    async with serving(scene, ceiling=1):
        with anyio.fail_after(60):
            await scene.model.asked(2)


class Held(MemoryStore):
    """Somebody holds every session at so many looks."""

    def __init__(self, clock: FakeClock, looks: int) -> None:
        super().__init__(clock)
        self.looks = looks

    async def claim_runs(self, lease: Lease, choose: Choose) -> tuple[Run, ...]:
        def none(backlog: Backlog) -> tuple[str, ...]:
            choose(backlog)
            return ()

        self.looks -= 1
        return await super().claim_runs(lease, choose if self.looks < 0 else none)


async def test_a_session_that_was_held_by_somebody_is_looked_at_again_at_once() -> None:
    scene = Scene()
    scene.store = Held(scene.clock, looks=HELD_LOOKS)
    scene.model.add((Hang(),))
    await ask(scene, "a")
    async with serving(scene):
        with anyio.fail_after(60):
            await scene.model.asked(1)


async def test_a_session_that_stays_held_is_left_to_the_next_look() -> None:
    scene = Scene()
    scene.store = store = Held(scene.clock, looks=HELD_LOOKS + 1)
    scene.model.add((Hang(),))
    await ask(scene, "a")
    async with serving(scene):
        await until_all_wait()
        assert store.looks == 0
        scene.clock.advance(POLL_MS)
        with anyio.fail_after(60):
            await scene.model.asked(1)


async def test_a_message_that_nobody_waits_before_is_answered_without_a_claim_of_its_own() -> None:
    """The store of this scene refuses every claim: what is begun was started by who queued it."""
    scene = Scene()
    scene.store = Held(scene.clock, looks=1_000)
    scene.model.add((Say("at once"),), (Say("again"),))
    async with serving(scene):
        await until_all_wait()
        for number, name in enumerate(("a", "b"), start=1):
            await ask(scene, name)
            with anyio.fail_after(60):
                await scene.model.asked(number)


async def test_no_more_than_the_ceiling_are_started_at_once() -> None:
    scene = Scene()
    release = anyio.Event()
    scene.model.add((Until(release), Say("one")), (Say("two"),))
    async with serving(scene, ceiling=1):
        await until_all_wait()
        for name in ("a", "b"):
            await ask(scene, name)
        await until_all_wait()
        assert len(scene.model.requests) == 1
        release.set()
        with anyio.fail_after(60):
            await scene.model.asked(2)


class Late(MemoryStore):
    """Starts at once, and tells of it when it is asked to."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.untold: list[Callable[[], None]] = []

    def starting(self, starter: Starter) -> AbstractContextManager[None]:
        def later(run: Run) -> None:
            self.untold.append(partial(starter.begin, run))

        return super().starting(replace(starter, begin=later))

    def tell(self) -> None:
        for told in self.untold:
            told()


@pytest.mark.requirement("P1")
async def test_what_was_started_at_once_and_comes_too_late_waits_again() -> None:
    scene = Scene()
    scene.store = store = Late(scene.clock)
    async with serving(scene):
        await until_all_wait()
        await ask(scene, "a")
        assert (await store.active_runs(SessionKey.named("main", "a")))[0].state is RunState.RUNNING
    store.tell()
    (run,) = await store.active_runs(SessionKey.named("main", "a"))
    assert (run.state, run.claim, scene.model.requests) == (RunState.QUEUED, None, [])


async def test_what_was_started_at_once_has_its_place_before_it_is_heard_of() -> None:
    scene = Scene()
    scene.store = store = Late(scene.clock)
    scene.model.add(*[(Hang(),)] * 4)
    async with serving(scene, ceiling=2):
        await until_all_wait()
        for name in ("a", "b", "c", "d"):
            await ask(scene, name)
        await until_all_wait()
        assert scene.model.requests == []
        store.tell()
        await until_all_wait()
        scene.clock.advance(POLL_MS)
        await until_all_wait()
        assert len(scene.model.requests) == 2
