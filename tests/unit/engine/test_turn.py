from dataclasses import replace
from typing import cast

import pytest

from roost.core.effects import AcceptInput, AppendEntries, Effects, OpenGeneration
from roost.core.inbound import InputMode
from roost.core.messages import ToolResult, text_of
from roost.core.models import FailureKind, ModelFailed
from roost.core.queries import LedgerQuery
from roost.core.runs import RunState
from roost.core.sessions import Base, OpenedBy
from roost.core.snapshots import Snapshot
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.crashing import Crashes, CrashingStore
from roost.testing.scripts import Fail, Say, Think, calls
from tests.unit.engine.scenes import Doing, Scene, call, outcome, runner


async def done() -> str:
    return "ok"


async def test_a_run_that_only_calls_tools_is_ended() -> None:
    scene = Scene()
    scene.tools = (Doing("again", done),)
    scene.model.add(*[calls(call("again", f"c{number}")) for number in range(4)])
    with pytest.raises(ModelFailed, match="3 steps"):
        await (await scene.turn(await scene.claimed(), most_steps=3)).play()
    assert sum(isinstance(body, ToolResult) for body in await scene.bodies()) == 3
    assert (await scene.store.usage(LedgerQuery(key=MAIN))).calls == 3


async def test_each_call_is_recorded_with_what_it_is_about_and_none_that_is_not_made() -> None:
    scene = Scene()
    scene.tools = (Doing("again", done),)
    scene.model.add(*[calls(call("again", f"c{number}")) for number in range(4)])
    counted = Crashes()
    scene.store = CrashingStore(scene.store, counted)
    run = await scene.claimed()
    with pytest.raises(ModelFailed, match="3 steps"):
        await (await scene.turn(run, most_steps=3)).play()
    # Those of the tools.
    assert counted.calls.count("store.begin_step") == 3
    after = await scene.store.run(run.id)
    assert after is not None
    assert after.progress.model_calls == 3


@pytest.mark.parametrize(("said", "apart"), [(("short",), 0), (("x",) * 300, 1), (("x" * 200_000,), 1)])
async def test_nobody_waits_while_a_long_conversation_is_put_into_a_call(
    said: tuple[str, ...], apart: int
) -> None:
    scene = Scene()
    counted = Crashes()
    scene.store = CrashingStore(scene.store, counted)
    run = await scene.claimed()
    drafts = tuple(builders.said(f"e{number}", text) for number, text in enumerate(said))
    await scene.store.append(MAIN, drafts)
    scene.model.add((Say("ok"),))
    await (await scene.turn(run)).play()
    assert counted.calls.count("store.begin_step") == apart


async def test_what_no_prompt_can_be_made_of_is_taken_and_ends_its_own_run_only() -> None:
    scene = Scene()
    scene.system = cast("str", None)
    run = await scene.claimed()
    await runner(scene).run(run)
    assert await outcome(scene, run) == (RunState.FAILED, "internal")
    assert await scene.store.pending_inputs(MAIN) == ()
    assert len(await scene.bodies()) == 1


async def test_what_is_said_during_a_tool_is_read_before_the_next_answer() -> None:
    scene = Scene()
    run = await scene.claimed()
    steer = builders.inbound("steer", text="rather this")

    async def meanwhile() -> str:
        def join(snapshot: Snapshot) -> Effects:
            return (AcceptInput(inbound=steer, run_id=run.id, mode=InputMode.STEER),)

        await scene.store.accept_inbound(steer, join)
        return "ok"

    scene.tools = (Doing("work", meanwhile),)
    scene.model.add(calls(call("work")), (Say("as you say"),))
    await (await scene.turn(run)).play()
    assert "rather this" in text_of(scene.model.requests[1].messages[-1])


async def test_the_context_goes_back_through_the_base_of_a_generation() -> None:
    scene = Scene()
    row = builders.session()
    drafts = (builders.said("e1", "kept"), builders.answered("e2", "yes"), builders.said("e3", "left out"))

    def build(snapshot: Snapshot) -> Effects:
        fork = replace(
            builders.generation(MAIN, "gen-2", 2),
            opened_by=OpenedBy.BACK,
            base=Base(session_id="gen-1", seq=2),
        )
        return (
            builders.opening(row, "gen-1"),
            AppendEntries(key=MAIN, drafts=drafts),
            OpenGeneration(generation=fork),
        )

    await scene.store.change_session(MAIN, build)
    scene.model.add((Think("hm"), Say("here")))
    await (await scene.turn(await scene.claimed())).play()
    assert [text_of(message) for message in scene.model.requests[0].messages] == ["kept", "yes", "r1"]


async def test_a_smaller_context_that_fails_for_another_reason_is_told_with_that_reason() -> None:
    scene = Scene()
    scene.model.add((Fail(FailureKind.OVERFLOW, "too long"),), (Fail(FailureKind.AUTH, "no key"),))
    with pytest.raises(ModelFailed, match="no key") as failed:
        await (await scene.turn(await scene.claimed())).play()
    assert failed.value.kind is FailureKind.AUTH


async def test_a_failure_that_is_no_overflow_shrinks_nothing() -> None:
    scene = Scene()
    scene.model.add((Fail(FailureKind.AUTH, "no key"),))
    with pytest.raises(ModelFailed, match="no key"):
        await (await scene.turn(await scene.claimed())).play()
    assert len(scene.model.requests) == 1
