"""What a session may do when it is told of a reply for which it no longer waited."""

import pytest

from roost.core.keys import SessionKey
from roost.core.messages import ToolResult, text_of
from roost.core.models import ModelRequest
from roost.testing import builders
from roost.testing.scripts import Say, Script
from tests.flows.stages import MAIN, OPS, Plays, Stage, replies, result, send, step
from tests.flows.test_last_words import unchatted

pytestmark = pytest.mark.timeout(30)

CHILD = SessionKey.parse("agent:main:subagent:one")
THIRD = SessionKey.named("third", "main")
LATE = "Agent-to-agent late reply."


@pytest.mark.requirement("P15")
@pytest.mark.parametrize("asked", [OPS, CHILD])
async def test_who_asks_again_after_a_late_reply_is_told_that_the_exchange_is_over_and_what_to_do(
    stage: Stage, asked: SessionKey
) -> None:
    stage.agents, stage.max_turns = frozenset({"main", "ops", "third"}), 0
    asking = stage.play(
        MAIN,
        send("c1", sessionKey=str(asked), message="how many?", timeoutSeconds=0),
        (Say("Asked."),),
        send("c2", sessionKey=str(asked), message="and which?", timeoutSeconds=0),
        send("c3", agentId="third", message="is that right?"),
        (Say("NO_REPLY"),),
        send("c4", sessionKey=str(asked), message="and which?", timeoutSeconds=0),
        otherwise=(Say("NO_REPLY"),),
    )
    answering = stage.play(asked, otherwise=replies("three"))
    stage.play(THIRD, otherwise=replies("yes"))
    row = builders.session(CHILD, parent=MAIN)
    async with stage.bench.serving() as (engine, _):
        await stage.bench.store.change_session(CHILD, lambda _: (builders.opening(row, "child-1"),))
        await engine.inbox.say(unchatted("ask how many"))
        await engine.settled()
        late = asking.requests[2]
        assert step(late) == LATE
        assert f"{asked} cannot be asked again in this turn." in text_of(late.messages[-1])
        refused, other = result(asking, 3), result(asking, 4)
        assert (refused["status"], other["status"]) == ("forbidden", "ok")
        assert "is over" in refused["error"]
        assert "wait for a person's next word" in refused["error"]
        (denial,) = await stage.bench.store.denials(10)
        assert (denial.rule, denial.target) == ("exchange_over", str(asked))
        assert f"({asked} → {MAIN} → {asked})" in denial.reason
        await engine.inbox.say(unchatted("then ask which"))
        await engine.settled()
    assert result(asking, 6)["status"] == "accepted"
    assert len(answering.requests) == 2


def asks(other: str) -> Plays:
    """Sends whatever it hears on, and waits for nothing."""

    def act(request: ModelRequest) -> Script:
        if isinstance(request.messages[-1], ToolResult):
            return (Say("passed on"),)
        return send(f"c{len(request.messages)}", agentId=other, message="and you?", timeoutSeconds=0)

    return act


@pytest.mark.requirement("P15")
async def test_two_agents_that_ask_each_other_whatever_they_hear_come_to_an_end(stage: Stage) -> None:
    first, second = stage.play(MAIN, otherwise=asks("ops")), stage.play(OPS, otherwise=asks("main"))
    async with stage.bench.serving() as (engine, _):
        await engine.inbox.say(unchatted("begin"))
        await engine.settled()
        denials = await stage.bench.store.denials(10)
    # A turn of each, and the late reply.
    assert (len(first.requests), len(second.requests)) == (4, 2)
    assert sorted(one.rule for one in denials) == ["cycle", "exchange_over"]
