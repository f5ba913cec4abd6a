from dataclasses import replace

import anyio
import pytest

from roost.core.compaction import EXCERPTS, SECTIONS, CompactionPlan, CompactionSettings, plan
from roost.core.entries import Entry
from roost.core.errors import Fenced
from roost.core.messages import AssistantMessage, Body, Text, UserMessage
from roost.core.models import FailureKind, ModelRef, ModelSpec
from roost.core.queries import LedgerQuery
from roost.core.upkeep import ContextSettings
from roost.engine.condensing import Condensing
from roost.engine.rules import Answerer
from roost.engine.work import Work
from roost.testing.builders import HUMAN, MAIN
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Fail, Hang, Say
from tests.unit.engine.scenes import HOME, Scene
from tests.waiting import until_all_wait

GOOD = "\n".join(f"## {section}\nNone." for section in SECTIONS)


def planned() -> CompactionPlan:
    bodies: tuple[Body, ...] = (
        UserMessage(content=(Text("word " * 300),), at=1, provenance=HUMAN),
        AssistantMessage(content=(Text("yes"),), at=2),
        UserMessage(content=(Text("now?"),), at=3, provenance=HUMAN),
    )
    entries = [Entry(session_id="s", seq=n, id=f"e{n}", body=body) for n, body in enumerate(bodies)]
    found = plan(entries, 600, CompactionSettings(keep_recent=100, keep_turns=1))
    assert found is not None
    return found


async def working(scene: Scene) -> Work:
    return await scene.work(await scene.claimed())


async def test_a_good_summary_needs_one_call_without_tools_that_is_billed() -> None:
    scene = Scene()
    scene.model.add((Say(GOOD),))
    work = await working(scene)
    compaction = await Condensing(work).condense(planned(), "the numbers")
    assert compaction.summary == GOOD
    (request,) = scene.model.requests
    assert request.tools == ()
    assert "the numbers" in request.system
    assert len(work.bill()) == 1


async def test_a_summary_that_lacks_something_is_asked_for_once_more_with_the_reason() -> None:
    scene = Scene()
    scene.model.add((Say("## Decisions\nnone"),), (Say(GOOD),))
    work = await working(scene)
    compaction = await Condensing(work).condense(planned())
    assert compaction.summary == GOOD
    assert "lacks" in str(scene.model.requests[1].messages[0].content[0])
    assert (await scene.store.usage(LedgerQuery(key=MAIN))).calls + len(work.bill()) == 2


@pytest.mark.requirement("P11")
async def test_after_two_calls_of_no_use_excerpts_are_taken() -> None:
    scene = Scene()
    scene.model.add((Fail(FailureKind.PERMANENT),), (Say(""),))
    compaction = await Condensing(await working(scene)).condense(planned())
    assert compaction.summary.startswith(EXCERPTS)
    assert len(scene.model.requests) == 2


@pytest.mark.requirement("P11")
async def test_a_summariser_that_hangs_is_given_up() -> None:
    scene = Scene()
    scene.model.add((Say("well"), Hang()), (Hang(),))
    work = await working(scene)
    work.playing.part = replace(work.part, context=ContextSettings(summary_timeout_ms=3_000))
    summaries: list[str] = []

    async def condense() -> None:
        summaries.append((await Condensing(work).condense(planned())).summary)

    async with anyio.create_task_group() as group:
        group.start_soon(condense)
        for _ in range(6):
            await until_all_wait()
            scene.clock.advance(1_000)
    assert summaries[0].startswith(EXCERPTS)


async def test_another_model_may_condense() -> None:
    scene, other = Scene(), ScriptedModel((Say(GOOD),))
    spec = ModelSpec(ref=ModelRef("other", "small"), context_window=8_000, max_tokens=100)
    work = await working(scene)
    work.playing.part = replace(work.part, summariser=Answerer(model=other, spec=spec, thinking="low"))
    await Condensing(work).condense(planned())
    assert [(request.spec, request.thinking) for request in other.requests] == [(spec, "low")]
    assert scene.model.requests == []


async def test_a_run_that_is_no_longer_ours_condenses_nothing() -> None:
    scene = Scene()
    work = await working(scene)
    await scene.store.acquire_lease(HOME)
    with pytest.raises(Fenced):
        await Condensing(work).condense(planned())
