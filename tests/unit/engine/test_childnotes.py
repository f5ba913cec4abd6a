import pytest

from roost.core import toolnames
from roost.core.effects import OweCompletion
from roost.core.exchanges import Completion
from roost.core.messages import text_of
from roost.core.runs import Request, RunKind
from roost.core.sources import child_key
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.scripts import Say
from tests.unit.engine.scenes import Doing, Scene

CHILD = child_key("main", "c")


async def done() -> str:
    return "ok"


@pytest.mark.parametrize(
    ("tool", "kind", "reminded"),
    [
        (toolnames.SUBAGENTS, RunKind.TURN, True),
        (toolnames.SUBAGENTS, RunKind.ANNOUNCE, False),
        ("another", RunKind.TURN, False),
    ],
)
async def test_a_run_is_reminded_of_children_that_it_can_look_after(
    tool: str, kind: RunKind, *, reminded: bool
) -> None:
    scene = Scene()
    scene.tools = (Doing(tool, done),)
    scene.model.add((Say("well"),))
    run = await scene.claimed(request=Request(kind=kind, prompt="go on"))
    owed = Completion(child_run="c", child=CHILD, requester=MAIN, batch=run.id, created_at=scene.clock.now())
    await scene.store.change_session(
        CHILD, lambda snapshot: (builders.opening(builders.session(CHILD), "gen-c"),)
    )
    await scene.store.change_session(MAIN, lambda snapshot: (OweCompletion(completion=owed),))
    await (await scene.turn(run)).play()
    *before, answered, asked = [text_of(one) for one in scene.model.requests[0].messages]
    assert (answered, asked) == ("r1", "go on")
    assert any("## Active Subagents" in one for one in before) is reminded
