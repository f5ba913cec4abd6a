import anyio
import pytest

from roost.core.deliveries import DeliveryState
from roost.core.effects import Effects, EndRun, OweCompletion
from roost.core.endings import OVERDUE
from roost.core.errors import Conflict, Fenced, RoostError, StoreUnavailable
from roost.core.exchanges import Completion
from roost.core.inputs import entries_of
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.runs import Outcome, Run, RunState
from roost.core.snapshots import Advance, RunSnapshot
from roost.engine.patience import LOOK_MS, Patience
from roost.stores.memory import MemoryStore
from roost.testing.builders import MAIN
from tests.unit.engine.scenes import Scene, outcome, runner
from tests.waiting import until_all_wait

CHILD = SessionKey.parse("agent:main:subagent:one")


async def waiting(scene: Scene, name: str = "r1", until: int = 0) -> Run:
    """A run that waits for a child of its own, for so long."""
    run = await scene.claimed(name)
    assert run.claim is not None
    await scene.store.take_inputs(run.claim, entries_of)
    now = scene.clock.now()
    yielded = Outcome(state=RunState.DONE, at=now, yielded=True, until=now + until)
    awaited = Completion(child_run=f"c-{name}", child=CHILD, requester=MAIN, batch=name, created_at=now)

    def wait(snapshot: RunSnapshot) -> Effects:
        return (EndRun(run_id=name, outcome=yielded), OweCompletion(completion=awaited))

    return await scene.store.finish_run(run.claim, wait)


def patience(scene: Scene) -> Patience:
    return Patience(scene.store, scene.clock, runner(scene))


@pytest.mark.requirement("D21", "P13")
async def test_what_waits_is_ended_soon_after_its_time_is_over_and_who_asked_is_told() -> None:
    scene = Scene()
    run = await waiting(scene, until=5 * LOOK_MS)
    async with anyio.create_task_group() as group:
        group.start_soon(patience(scene).serve, scene.lease)
        await until_all_wait()
        for _ in range(4):
            scene.clock.advance(LOOK_MS)
            await until_all_wait()
        assert await outcome(scene, run) == (RunState.DONE, None)
        scene.clock.advance(LOOK_MS)
        await until_all_wait()
        assert await outcome(scene, run) == (RunState.TIMEOUT, "timeout")
        group.cancel_scope.cancel()
    (told,) = await told_to_people(scene)
    assert told == f"No answer: {OVERDUE}."


async def told_to_people(scene: Scene) -> list[str]:
    return [one.text for one in await scene.store.deliveries(DeliveryState.INTENT, 10)]


class Stuck(MemoryStore):
    """One run cannot be ended, for a reason."""

    error: RoostError

    async def give_up(self, lease: Lease, run_id: str, advance: Advance) -> Run | None:
        if run_id == "stuck":
            raise self.error
        return await super().give_up(lease, run_id, advance)


def stuck(scene: Scene, error: RoostError) -> None:
    scene.store = store = Stuck(scene.clock)
    store.error = error


async def test_what_cannot_be_ended_keeps_nothing_else_waiting(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    stuck(scene, Conflict("somebody else holds it"))
    await waiting(scene, "stuck")
    other = await waiting(scene, "other", until=1)
    scene.clock.advance(1)
    await patience(scene).look(scene.lease)
    assert await outcome(scene, other) == (RunState.TIMEOUT, "timeout")
    assert "run stuck is overdue and could not be ended: somebody else holds it" in caplog.text


@pytest.mark.parametrize("error", [Fenced("taken over"), StoreUnavailable("full")])
async def test_what_nothing_can_be_done_about_ends_the_look(error: RoostError) -> None:
    scene = Scene()
    stuck(scene, error)
    await waiting(scene, "stuck")
    with pytest.raises(type(error)):
        await patience(scene).look(scene.lease)
