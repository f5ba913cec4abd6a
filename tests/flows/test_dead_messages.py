"""Messages between sessions that die because of somebody else: their sender learns of it, then and later."""

import json

import anyio
import pytest

from roost.core.exchanges import ExchangeState, Phase
from roost.core.messages import text_of
from roost.core.models import ModelRequest
from roost.core.principals import OWNER
from roost.core.visibility import PersonCaller
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Say, Script, Until
from tests.flows.gateways import BOB
from tests.flows.stages import GROUP, IN_KITCHEN, KITCHEN, MAIN, Stage, result, send, step

pytestmark = pytest.mark.timeout(30)

ASKED = "Agent-to-agent message."


class Kitchen:
    """A group that is slow to answer agents, and people who say "wait"."""

    def __init__(self, stage: Stage) -> None:
        self.gate = anyio.Event()
        self.model: ScriptedModel = stage.play(GROUP, otherwise=self._play)

    def _play(self, request: ModelRequest) -> Script:
        slow = step(request) == ASKED or text_of(request.messages[-1]).endswith("wait")
        return (Until(self.gate), Say("done")) if slow else (Say("hello"),)


async def sent_to_kitchen(stage: Stage, kitchen: Kitchen, *, begun: bool) -> None:
    """The owner's agent has sent the group a message and waits for nothing; it is being answered, or waits behind Bob's."""
    bench = stage.bench
    await bench.channel.say("hi", sender=BOB, chat=KITCHEN)
    await bench.channel.wait_replies(IN_KITCHEN, 1)
    if not begun:
        await bench.channel.say("wait", sender=BOB, chat=KITCHEN)
        await kitchen.model.asked(2)
    await bench.say("tell the kitchen")
    assert await bench.replies() == ("Sent.",)
    await kitchen.model.asked(2)


def asking(stage: Stage) -> ScriptedModel:
    """The owner's agent: it sends, and asks later by the message's id and by its mailbox."""
    held: list[str] = []

    def keep(request: ModelRequest) -> Script:
        held.append(json.loads(text_of(request.messages[-1]))["messageId"])
        return (Say("Sent."),)

    return stage.play(
        MAIN,
        send("c1", sessionKey=str(GROUP), message="dinner?", timeoutSeconds=0),
        keep,
        lambda request: send("c2", messageId=held[0]),
        send("c3", mailbox=10),
        (Say("I see."),),
    )


@pytest.mark.requirement("P3", "P6")
@pytest.mark.parametrize(
    ("word", "begun", "reason"),
    [
        ("/stop", True, "stopped by command"),
        ("/stop", False, "stopped by command"),
        ("/new hello", True, "the session was started afresh"),
        ("/reset", True, "the session was started afresh"),
    ],
)
async def test_who_sent_a_message_is_told_when_somebody_else_stops_what_was_to_answer_it(
    stage: Stage, word: str, begun: bool, reason: str
) -> None:
    model, kitchen = asking(stage), Kitchen(stage)
    async with stage.bench.serving() as (engine, _):
        await sent_to_kitchen(stage, kitchen, begun=begun)
        await stage.bench.channel.say(word, sender=BOB, chat=KITCHEN)
        over = await stage.over()
        kitchen.gate.set()
        await engine.settled()
        told = f"There is no reply to the message {over.id}: failed, {reason}."
        assert (over.state, over.phase, over.error) == (ExchangeState.FAILED, Phase.DONE, reason)
        assert await stage.said(MAIN) == ["tell the kitchen", "", "Sent.", told]
        # A stop starts no work.
        assert len(model.requests) == 2
        await stage.bench.say("what came of it?")
        await stage.bench.replies(at_least=2)
    assert any(told in text_of(one) for one in model.requests[2].messages)


@pytest.mark.requirement("P3", "P6")
async def test_what_became_of_a_message_can_be_asked_when_whom_it_went_to_was_deleted(stage: Stage) -> None:
    model, kitchen = asking(stage), Kitchen(stage)
    async with stage.bench.serving() as (engine, _):
        await sent_to_kitchen(stage, kitchen, begun=True)
        await engine.operations.delete(PersonCaller(principal=OWNER), GROUP)
        assert await stage.bench.store.session(GROUP) is None
        (line,) = (text for text in await stage.said(MAIN) if text.startswith("There is no reply"))
        assert line.endswith("failed, the session was deleted.")
        await stage.bench.say("what came of it?")
        await stage.bench.replies(at_least=2)
    looked, listed = result(model, 3), result(model, 4)
    assert (looked["status"], looked["state"]) == ("error", "failed")
    assert (looked["error"], looked["sentBeforeError"]) == ("the session was deleted", True)
    (row,) = listed["messages"]
    assert (row["receipt"], row["error"], row["message"]) == ("dead", "the session was deleted", "dinner?")
