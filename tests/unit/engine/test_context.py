from dataclasses import replace

from roost.core.contextreport import ContextReport, ToolSize
from roost.core.messages import AssistantMessage, StopReason, Text, Usage, UserMessage
from roost.core.tools import Place
from roost.core.workspacefiles import FileState, WorkspaceFile
from roost.engine.context import Context, context_report
from roost.testing import builders
from roost.testing.builders import HUMAN
from tests.flows.gateways import SPEC
from tests.unit.engine.scenes import Doing, Scene


async def nothing() -> str:
    return ""


def answered(text: str, total: int = 0, stop: StopReason = StopReason.STOP) -> AssistantMessage:
    return AssistantMessage(content=(Text(text),), at=0, usage=Usage(total=total), stop=stop)


async def opened(scene: Scene) -> Context:
    context = Context(await scene.work(await scene.claimed()))
    await context.read()
    await context.take_inputs()
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


async def test_a_report_names_every_part_of_a_context() -> None:
    scene = Scene()
    scene.tools = (Doing("look", nothing),)
    work = await scene.work(await scene.claimed())
    shown = WorkspaceFile(name="AGENTS.md", state=FileState.TRUNCATED, text="rules", raw=50)
    part = replace(work.part, place=Place(workspace="/w"), files=(shown,))
    assert context_report(builders.session(), part) == ContextReport(
        place=Place(workspace="/w"),
        system=len("You are a test."),
        files=(shown,),
        tools=(ToolSize(name="look", text=len("Does it."), schema=2),),
        tokens=0,
        window=SPEC.context_window,
        compactions=0,
    )
