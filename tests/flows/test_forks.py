"""Children that begin with the conversation of their requester, or would if it were not too long."""

from dataclasses import replace

import pytest

from roost.core.leases import Gateway
from roost.core.messages import ToolResult, Usage, text_of
from roost.core.models import ModelRequest
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.engine.rules import Part
from roost.testing.scripts import Say, Script, Spend
from tests.flows.gateways import SPEC
from tests.flows.nursery import Nursery, announcing, newest, results, spawns, task_of

UNCOUNTED = Usage()
COUNTED = Usage(input=150_000, output=10, total=150_010)
SHORT, LONG = "lorem ipsum " * 100, "lorem ipsum " * 50_000


@pytest.mark.requirement("D65")
@pytest.mark.parametrize(
    ("words", "counted", "begins"),
    [(SHORT, UNCOUNTED, "fork"), (LONG, UNCOUNTED, "isolated"), (SHORT, COUNTED, "isolated")],
    ids=["short", "long as it is reckoned", "long as its provider counts"],
)
async def test_a_conversation_too_long_to_fork_is_known_in_its_first_turn(
    nursery: Nursery, words: str, counted: Usage, begins: str
) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("ANNOUNCE_SKIP")]
        if task_of(request):
            return [Say("done")]
        begun = isinstance(newest(request), ToolResult)
        return [Say("Begun.") if begun else spawns("read", context="fork")[0], Spend(counted)]

    def roomy(session: Session, run: Run) -> Part:
        return replace(nursery.cast(session, run), spec=replace(SPEC, context_window=1_000_000))

    nursery.act = act
    nursery.bench.change(cast=roomy)
    async with nursery.engine().serving(Gateway(name="flow", holder="flow")):
        await nursery.bench.say(words)
        await nursery.bench.replies()
    (spawned,) = results(nursery.newest_of_main())
    assert (spawned["context"], "100000 tokens" in spawned.get("note", "")) == (begins, begins == "isolated")
    asked = [request for request in nursery.bench.model.requests if task_of(request)]
    assert all(
        ("lorem" in str([text_of(said) for said in one.messages])) is (begins == "fork") for one in asked
    )
