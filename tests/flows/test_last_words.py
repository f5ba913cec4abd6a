"""The last word of an exchange: whether the session that was sent to is asked for one, and what its sender is told of that."""

import json

import pytest

from roost.core.addressed import Addressed
from roost.core.messages import text_of
from roost.core.models import ModelRequest
from roost.core.principals import OWNER
from roost.core.runs import Request
from roost.testing.scripts import Say, Script
from tests.flows.gateways import BOB
from tests.flows.stages import (
    ANNOUNCE_STEP,
    GROUP,
    IN_KITCHEN,
    KITCHEN,
    MAIN,
    OPS,
    Stage,
    replies,
    result,
    send,
    step,
)

pytestmark = pytest.mark.timeout(30)


def unchatted(text: str) -> Addressed:
    """The owner's word to the main session from a page, which is no chat."""
    return Addressed(
        key=MAIN, principal=OWNER, text=text, run_id=text, idempotency_key=text, request=Request()
    )


@pytest.mark.requirement("D13")
async def test_where_nobody_would_hear_a_word_of_the_other_session_none_is_asked_for_and_that_is_told(
    stage: Stage,
) -> None:
    asking = stage.play(MAIN, send(agentId="ops", message="how many?"), (Say("Three."),))
    asked = stage.play(OPS, otherwise=replies("three"))
    async with stage.bench.serving() as (engine, _):
        await engine.inbox.say(unchatted("ask ops"))
        await asking.asked(2)
        await engine.settled()
        await stage.over()
    assert result(asking)["delivery"] == {"status": "skipped", "mode": "announce"}
    assert (result(asking)["reply"], len(asked.requests)) == ("three", 1)


@pytest.mark.requirement("D13")
async def test_a_word_that_the_other_session_was_asked_for_is_done_when_it_is_asked_about_later(
    stage: Stage,
) -> None:
    sent: list[str] = []

    def keep(request: ModelRequest) -> Script:
        sent.append(json.loads(text_of(request.messages[-1]))["messageId"])
        return (Say("Sent."),)

    asking = stage.play(
        MAIN,
        send(sessionKey=str(GROUP), message="dinner?"),
        keep,
        lambda request: send("c2", messageId=sent[0]),
        (Say("Done."),),
    )
    asked = stage.play(GROUP, (Say("hello all"),), otherwise=replies("pasta", last="We eat pasta."))
    async with stage.bench.serving() as (engine, _):
        await stage.bench.channel.say("hi", sender=BOB, chat=KITCHEN)
        await stage.bench.channel.wait_replies(IN_KITCHEN, 1)
        await engine.inbox.say(unchatted("ask the kitchen"))
        await asking.asked(2)
        await stage.over()
        await engine.settled()
        await engine.inbox.say(unchatted("and?"))
        await engine.settled()
    assert [step(one) for one in asked.requests].count(ANNOUNCE_STEP) == 1
    assert result(asking)["delivery"] == {"status": "done", "mode": "announce"}
