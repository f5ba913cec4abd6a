from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import pytest

from roost.core import recovery
from roost.core.announce import announcement
from roost.core.effects import (
    AcceptInput,
    AcknowledgeCompletion,
    Effect,
    Effects,
    KillInput,
    MergeInput,
    OweCompletion,
    QueueRun,
    SettleCompletion,
)
from roost.core.endings import ABANDONED
from roost.core.errors import NotFound
from roost.core.exchanges import CompletionStatus
from roost.core.inbound import InboundState, InputMode, Source
from roost.core.models import FailureKind
from roost.core.notices import derived_id
from roost.core.principals import OWNER
from roost.core.recovery import Recovery
from roost.core.runs import Request, Run, RunKind, RunState
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.engine.feed import Feed
from roost.engine.rulebook import Rulebook
from roost.engine.runner import Runner
from roost.engine.stops import Stops
from roost.engine.waits import Waited, Waits
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.scripts import Fail, Hang, Say, Until, calls
from tests import samples
from tests.unit.engine.scenes import HOME, Scene, call, everything
from tests.waiting import until_all_wait


class Waiting(Scene):
    @property
    def waits(self) -> Waits:
        return Waits(self.store, self.clock)

    async def play(self, run: Run) -> None:
        await Runner(self.store, self.clock, Rulebook(self.rules), Stops(), Feed(self.store, self.clock)).run(
            run
        )

    async def decide(self, *effects: Effect) -> None:
        await self.store.change_session(MAIN, lambda snapshot: effects)


async def waited(scene: Waiting, name: str, meanwhile: Callable[[], Awaitable[None]]) -> Waited:
    found: list[Waited] = []

    async def wait() -> None:
        found.append(await scene.waits.for_message(name, 60_000))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await until_all_wait()
            assert found == []
            await meanwhile()
    return found[0]


async def test_a_message_is_followed_to_the_end_of_its_run_and_what_that_said() -> None:
    scene = Waiting()
    scene.model.add((Say("Let me see."), *calls(call("nothing"))), (Say("Done.\nNO_REPLY"),))
    run = await scene.claimed()
    found = await waited(scene, "r1", lambda: scene.play(run))
    assert found.over
    assert found.record.state is InboundState.TAKEN
    assert found.run is not None
    assert (found.run.state, found.reply) == (RunState.DONE, "Done.")


@pytest.mark.requirement("P6")
async def test_a_wait_that_is_over_first_says_how_far_the_message_is_and_may_be_taken_up_again() -> None:
    scene = Waiting()
    release = anyio.Event()
    scene.model.add((Until(release), Say("late")))
    run = await scene.claimed()
    found: list[Waited] = []

    async def wait() -> None:
        found.append(await scene.waits.for_message("r1", 1_000))

    async with anyio.create_task_group() as group:
        group.start_soon(scene.play, run)
        group.start_soon(wait)
        await until_all_wait()
        scene.clock.advance(1_000)
        await until_all_wait()
        (first,) = found
        assert not first.over
        assert first.run is not None
        assert (first.run.id, first.run.state, first.reply) == ("r1", RunState.RUNNING, None)
        release.set()
        assert (await scene.waits.for_message("r1", 1_000)).reply == "late"


async def test_a_failed_run_is_over_without_a_reply() -> None:
    scene = Waiting()
    scene.model.add((Say("half"), Fail(FailureKind.AUTH, "no")))
    run = await scene.claimed()
    found = await waited(scene, "r1", lambda: scene.play(run))
    assert found.over
    assert found.run is not None
    assert (found.run.state, found.reply) == (RunState.FAILED, None)


async def test_a_message_that_was_merged_is_over_with_the_one_it_was_merged_into() -> None:
    scene = Waiting()
    scene.model.add((Say("both"),))
    await scene.hear("r1")
    second = builders.inbound("m2", at=scene.clock.now())
    await scene.store.accept_inbound(
        second, lambda snapshot: (AcceptInput(inbound=second, run_id="r1", mode=InputMode.OPEN),)
    )

    async def merge_and_play() -> None:
        scene.lease = await scene.store.acquire_lease(HOME)
        await scene.decide(MergeInput(inbound_id="r1", into="m2", reason="collected"))
        (run,) = await scene.store.claim_runs(scene.lease, everything)
        await scene.play(run)

    found = await waited(scene, "r1", merge_and_play)
    assert (found.record.inbound.id, found.reply) == ("m2", "both")


async def test_a_message_that_will_never_be_answered_is_over() -> None:
    scene = Waiting()
    await scene.hear("r1")

    async def kill() -> None:
        await scene.decide(KillInput(inbound_id="r1", reason="the queue was emptied"))

    found = await waited(scene, "r1", kill)
    assert (found.over, found.run, found.record.reason) == (True, None, "the queue was emptied")


async def test_a_wait_survives_the_end_of_the_gateway_that_ran_it() -> None:
    scene = Waiting()
    scene.model.add((Hang(),), (Say("after all"),))
    run = await scene.claimed()

    async def die_and_recover() -> None:
        async with anyio.create_task_group() as life:
            life.start_soon(scene.play, run)
            await until_all_wait()
            life.cancel_scope.cancel()
        lease = await scene.store.acquire_lease(HOME)
        decided = Recovery(now=scene.clock.now(), announce=announcement)

        def fate(snapshot: RunSnapshot) -> Effects:
            return recovery.recover(snapshot, decided)

        await scene.store.reap_runs(lease, fate)
        (again,) = await scene.store.claim_runs(lease, everything)
        await scene.play(again)

    assert run.claim is not None
    await scene.store.take_inputs(run.claim, lambda records: (builders.said("e1", "go"),))
    found = await waited(scene, "r1", die_and_recover)
    assert found.reply == "after all"


async def test_a_message_is_found_by_the_key_it_was_sent_under() -> None:
    scene = Waiting()
    message = builders.inbound("m1", source=Source(channel="web", idempotency_key="k1"), at=scene.clock.now())

    def decide(snapshot: Snapshot) -> Effects:
        return (
            builders.opening(builders.session(), "gen-1"),
            QueueRun(run=builders.run("r1", at=scene.clock.now())),
            AcceptInput(inbound=message, run_id="r1", mode=InputMode.OPEN),
        )

    await scene.store.accept_inbound(message, decide)
    found = await scene.waits.for_key(OWNER, MAIN, "k1", 0)
    assert (found.record.inbound.id, found.over) == ("m1", False)
    with pytest.raises(NotFound, match="k2"):
        await scene.waits.for_key(OWNER, MAIN, "k2", 0)
    with pytest.raises(NotFound):
        await scene.waits.for_message("nothing", 0)


async def yielded() -> Waiting:
    """A run that waits for its child."""
    scene = Waiting()
    run = await scene.claimed()
    assert run.claim is not None
    await scene.store.take_inputs(run.claim, lambda records: (builders.said("e1", "go"),))
    ended = builders.done("r1", at=scene.clock.now())
    ended = replace(ended, outcome=replace(ended.outcome, yielded=True))
    owed = samples.completion("c1", batch="r1")
    await scene.store.finish_run(run.claim, lambda snapshot: (ended, OweCompletion(completion=owed)))
    return scene


async def test_a_run_that_yielded_is_over_with_the_one_that_goes_on_in_its_place() -> None:
    scene = await yielded()
    first = await scene.waits.for_message("r1", 0)
    assert first.run is not None
    assert (first.over, first.run.state, first.run.outcome) == (False, RunState.RUNNING, None)
    scene.model.add((Say("all children are back"),))

    async def go_on() -> None:
        request = Request(kind=RunKind.CONTINUATION, reply_to=CHAT, completes="r1")
        later = builders.run(derived_id("continuation", "r1"), at=scene.clock.now(), request=request)
        settled = SettleCompletion(child_run="c1", status=CompletionStatus.OK, at=scene.clock.now())
        known = AcknowledgeCompletion(child_run="c1", at=scene.clock.now())
        await scene.decide(settled, known, QueueRun(run=later))
        (claimed,) = await scene.store.claim_runs(scene.lease, everything)
        await scene.play(claimed)

    assert (await waited(scene, "r1", go_on)).reply == "all children are back"


async def test_a_run_that_yielded_is_over_when_all_it_waits_for_was_stopped() -> None:
    scene = await yielded()

    async def stop() -> None:
        settled = SettleCompletion(child_run="c1", status=CompletionStatus.KILLED, at=scene.clock.now())
        await scene.decide(settled, AcknowledgeCompletion(child_run="c1", at=scene.clock.now()))

    found = await waited(scene, "r1", stop)
    assert found.run is not None
    assert found.run.outcome is not None
    assert (found.run.outcome.state, found.run.outcome.error) == (RunState.KILLED, ABANDONED)
