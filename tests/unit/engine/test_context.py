from dataclasses import replace

import pytest

from roost.core.messages import AssistantMessage, StopReason, Text, Usage, UserMessage
from roost.core.principals import person
from roost.engine.context import Context
from roost.testing import builders
from roost.testing.builders import HUMAN, MAIN
from tests.unit.engine.scenes import Scene


def answered(text: str, total: int = 0, stop: StopReason = StopReason.STOP) -> AssistantMessage:
    return AssistantMessage(content=(Text(text),), at=0, usage=Usage(total=total), stop=stop)


async def opened(scene: Scene) -> Context:
    context = Context(await scene.work(await scene.claimed()))
    await context.take_inputs(lambda ahead: None)
    return context


async def test_tokens_are_the_providers_count_where_there_is_one() -> None:
    context = await opened(Scene())
    estimated = context.tokens()
    assert 0 < estimated < 100
    await context.keep(answered("yes", total=700))
    assert context.tokens() == 700
    assert context.load(answered("more", total=800)).tokens == 800
    assert context.load(answered("more")).tokens > 700
    assert [context.load(answered("more", total=total)).counted for total in (0, 800)] == [False, True]


async def test_what_is_remembered_is_shown_and_written_nowhere() -> None:
    scene = Scene()
    context = await opened(scene)
    context.remember(UserMessage(content=(Text("aside"),), at=0, provenance=HUMAN))
    assert len(context.messages()) == 2
    assert len(await scene.bodies()) == 1


async def test_an_answer_that_broke_off_keeps_no_cache_warm() -> None:
    scene = Scene()
    context = await opened(scene)
    await context.keep(answered("half", stop=StopReason.ABORTED))
    await context.settle()
    assert len(await scene.bodies()) == 2


@pytest.mark.requirement("P8")
async def test_a_run_that_is_taken_up_again_acts_for_none_of_those_whose_words_it_has() -> None:
    scene = Scene()
    run = await scene.claimed()
    await Context(await scene.work(run)).take_inputs(lambda ahead: None)
    # As its row stands where an earlier build took what they said.
    told = builders.said("m-2", "me too", provenance=replace(HUMAN, principal=person("loopback", "bob")))
    await scene.store.append(MAIN, (replace(told, run_id=run.id),))
    work = await scene.work(run)
    assert not work.run.cause.joint
    Context(work)
    assert work.run.cause.joint
