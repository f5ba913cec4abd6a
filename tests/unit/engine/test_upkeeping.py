from dataclasses import replace

import anyio
import pytest

from roost.core.errors import Fenced
from roost.core.finishing import Played
from roost.core.messages import Notice, StopReason, ToolResult
from roost.core.models import FailureKind
from roost.core.runs import Request, RunKind
from roost.core.upkeep import ContextSettings, compaction_request
from roost.engine.upkeeping import FLUSH_STEPS, NOTHING_TO_GAIN, Compacting, Flushing
from roost.engine.work import Work
from roost.testing.scripts import Fail, Hang, Say, calls
from tests.unit.engine.scenes import HOME, Doing, Scene, call
from tests.waiting import until_all_wait

FLUSH = Request(kind=RunKind.FLUSH, prompt="save it")
DUE = ContextSettings(flush_from_chars=0)


async def done() -> str:
    return "ok"


async def working(scene: Scene, request: Request, settings: ContextSettings = DUE) -> Work:
    scene.tools = (Doing("write", done),)
    work = await scene.work(await scene.claimed(request=request))
    work.playing.part = replace(work.part, context=settings)
    return work


def problem(played: Played) -> object:
    (note,) = played.bodies
    assert isinstance(note, Notice)
    return note.data["problem"]


async def test_an_agent_that_saves_notes_sees_its_results_and_leaves_no_entry() -> None:
    scene = Scene()
    scene.model.add(calls(call("write")), (Say("NO_REPLY"),))
    flushing = Flushing(await working(scene, FLUSH))
    played = await flushing.play()
    assert problem(played) is None
    assert (played.words, played.told, played.load) == (None, None, None)
    assert isinstance(scene.model.requests[1].messages[-1], ToolResult)
    assert await scene.bodies() == []
    assert flushing.left_off(StopReason.ABORTED, "stopped") is None


async def test_saving_notes_that_fails_or_finds_no_end_is_noted_and_not_raised() -> None:
    scene = Scene()
    scene.model.add((Fail(FailureKind.AUTH, "the key was refused"),))
    assert "the key was refused" in str(problem(await Flushing(await working(scene, FLUSH)).play()))
    endless = Scene()
    endless.model.otherwise = calls(call("write"))
    assert "steps" in str(problem(await Flushing(await working(endless, FLUSH)).play()))
    assert len(endless.model.requests) == FLUSH_STEPS


async def test_saving_notes_that_hangs_is_given_up() -> None:
    scene = Scene()
    scene.model.add((Hang(),))
    flushing = Flushing(await working(scene, FLUSH))
    ended: list[Played] = []

    async def play() -> None:
        ended.append(await flushing.play())

    async with anyio.create_task_group() as group:
        group.start_soon(play)
        for _ in range(24):
            await until_all_wait()
            scene.clock.advance(5_000)
    assert "too long" in str(problem(ended[0]))


async def test_a_run_that_is_no_longer_ours_saves_nothing() -> None:
    scene = Scene()
    flushing = Flushing(await working(scene, FLUSH))
    await scene.store.acquire_lease(HOME)
    with pytest.raises(Fenced):
        await flushing.play()


async def test_notes_that_are_no_longer_due_are_left_for_later() -> None:
    scene = Scene()
    assert await Flushing(await working(scene, FLUSH, ContextSettings())).play() == Played()
    assert scene.model.requests == []


async def test_a_person_is_told_that_there_is_nothing_to_gain() -> None:
    scene = Scene()
    compacting = Compacting(await working(scene, compaction_request()))
    assert await compacting.play() == Played(told=NOTHING_TO_GAIN)
    assert compacting.left_off(StopReason.ABORTED, "stopped") is None
