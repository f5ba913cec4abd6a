"""What starts in the transaction that queues it, on the store that says it plainest."""

from dataclasses import replace

import pytest

from roost.core.effects import QueueRun
from roost.core.errors import StoreCorrupt
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.runs import Run, RunState
from roost.core.sessions import SessionStatus
from roost.ports import Starter
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.contract.scenes import accepted, change, everything, known, known_run, opened

SIDE = SessionKey.named("main", "side")
HOME = Gateway(name="home", holder="one")


class Scene:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(self.clock)
        self.begun: list[Run] = []

    def starter(self, lease: Lease) -> Starter:
        return Starter(lease=lease, choose=everything, begin=self.begun.append)


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_a_message_that_opens_the_only_run_starts_it(scene: Scene) -> None:
    lease = await scene.store.acquire_lease(HOME)
    with scene.store.starting(scene.starter(lease)):
        await accepted(scene.store, "m-1", "r-1")
        await accepted(scene.store, "m-2", "r-2", SIDE)
    assert [(run.id, run.state) for run in scene.begun] == [
        ("r-1", RunState.RUNNING),
        ("r-2", RunState.RUNNING),
    ]
    assert (await known(scene.store)).status is SessionStatus.RUNNING


async def test_one_whose_moment_has_not_come_waits_for_it(scene: Scene) -> None:
    lease = await scene.store.acquire_lease(HOME)
    await opened(scene.store)
    later = builders.run("r-1", MAIN, ready_at=scene.clock.now() + 1)
    with scene.store.starting(scene.starter(lease)):
        await change(scene.store, QueueRun(run=later))
    assert (scene.begun, await known_run(scene.store, "r-1")) == ([], later)


async def test_of_two_that_are_queued_together_neither_starts(scene: Scene) -> None:
    lease = await scene.store.acquire_lease(HOME)
    await opened(scene.store)
    with scene.store.starting(scene.starter(lease)):
        await change(scene.store, *(QueueRun(run=builders.run(name)) for name in ("r-1", "r-2")))
    assert scene.begun == []


async def test_under_a_lease_that_ran_out_nothing_starts_and_what_was_said_is_kept(scene: Scene) -> None:
    lease = await scene.store.acquire_lease(HOME)
    gone = replace(lease, epoch=lease.epoch - 1)
    with scene.store.starting(scene.starter(gone)):
        await accepted(scene.store, "m-1", "r-1")
    assert (scene.begun, (await known_run(scene.store, "r-1")).state) == ([], RunState.QUEUED)


async def test_a_row_that_cannot_be_read_keeps_nobody_from_being_heard(scene: Scene) -> None:
    lease = await scene.store.acquire_lease(HOME)

    def corrupt(backlog: object) -> tuple[str, ...]:
        raise StoreCorrupt("a stored value cannot be read")

    with scene.store.starting(replace(scene.starter(lease), choose=corrupt)):
        await accepted(scene.store, "m-1", "r-1")
    assert (scene.begun, (await known_run(scene.store, "r-1")).state) == ([], RunState.QUEUED)
