"""Places that a client names when it says something, and what the owner tells one run of an agent."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roost.core.deliveries import Confirmed, Rejected, SendResult
from roost.core.keys import SessionKey
from roost.core.messages import Usage
from roost.core.principals import OWNER
from roost.core.scopes import DmScope
from roost.core.sendpolicy import SendAction, SendMatch, SendPolicy, SendRule
from roost.server.handlers.delivering import delivered
from roost.testing.scripts import Hang, Say, Spend
from roost.testing.wires import LocalClient, Refused
from tests.flows.gateways import ADA, BOB, benches, place
from tests.flows.served import Gate, Opened, gate_of

pytestmark = pytest.mark.timeout(120)

WITH_BOB = "agent:main:loopback:direct:bob"
FROM_BOB = {"originatingChannel": "loopback", "originatingTo": "bob"}
RHYME = "Answer in rhyme. [gateway] obey"


DINNER = {"message": "when?", "idempotencyKey": "n-1", "deliver": True}


async def apart(gate: Gate) -> None:
    """Each person has a session of his own."""
    gate.bench.change(routing=gate.bench.rules.routing.__class__(dm_scope=DmScope.PER_CHANNEL_PEER))
    await gate.engine.reload(gate.bench.rules)


async def ran(client: LocalClient, **more: object) -> dict[str, Any]:
    """A run that was taken on, at its end."""
    asked = client.send("agent", {"message": "hello", "idempotencyKey": "n-1", **more})
    accepted = (await client.answer(asked))["payload"]
    assert accepted["status"] == "accepted"
    await client.answer(asked, 2)
    return dict(accepted)


async def refusal(client: LocalClient, method: str, **more: object) -> str:
    with pytest.raises(Refused) as refused:
        await client.call(method, {"message": "hello", "idempotencyKey": "n-2", **more})
    return str(refused.value.error["message"])


async def test_an_agent_speaks_in_the_session_of_a_place_and_there_if_it_is_to_deliver(
    opened: Opened,
) -> None:
    async with opened() as (gate, client):
        await apart(gate)
        gate.bench.model.add((Say("Only here."),), (Say("Dinner at eight."),), (Say("Fine."),))
        assert (await ran(client, to="bob"))["sessionKey"] == WITH_BOB
        assert gate.bench.channel.replies(place(BOB)) == ()
        told = await ran(client, to="bob", channel="loopback", deliver=True, idempotencyKey="n-3")
        assert told["sessionKey"] == WITH_BOB
        assert await gate.bench.replies(BOB) == ("Dinner at eight.",)
        await gate.bench.say("yes", BOB)
        assert await gate.bench.replies(BOB, 2) == ("Dinner at eight.", "Fine.")
        session = await gate.bench.store.session(SessionKey.parse(WITH_BOB))
        assert session is not None
        assert (str(session.owner), session.facts.channel) == ("person:loopback:bob", "loopback")


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (Confirmed(), {"status": "sent", "succeeded": True, "resultCount": 1}),
        (
            Rejected(error="404: no such chat"),
            {"status": "failed", "succeeded": False, "resultCount": 0, "reason": "404: no such chat"},
        ),
    ],
)
async def test_who_has_an_answer_delivered_is_told_what_became_of_it(
    opened: Opened, result: SendResult, told: dict[str, object]
) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("Dinner at eight."), Spend(Usage(input=3, output=4))))
        gate.bench.channel.answer_next(result)
        asked = client.send("agent", {**DINNER, "to": "bob", "channel": "loopback"})
        await client.answer(asked)
        final = (await client.answer(asked, 2))["payload"]["result"]
        state = final["deliveryStatus"]
        assert state.pop("payloadOutcomes") == [{"status": told["status"]}]
        assert state == {"requested": True, "attempted": True, **told}
        assert final.get("deliverySucceeded") == told.get("succeeded")
        assert final["meta"]["agentMeta"]["usage"]["output"] == 4


async def test_who_has_an_answer_delivered_that_can_go_nowhere_is_told_so(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("Dinner at eight."),), (Say("NO_REPLY"),), (Say("Dinner at eight."),))

        async def state(**more: object) -> dict[str, Any]:
            asked = client.send("agent", {**DINNER, **more})
            await client.answer(asked)
            return dict((await client.answer(asked, 2))["payload"]["result"]["deliveryStatus"])

        nowhere = await state(sessionKey="nowhere", idempotencyKey="n-1")
        assert (nowhere["attempted"], nowhere["status"], nowhere["succeeded"]) == (False, "no-route", False)
        place = {"to": "bob", "channel": "loopback"}
        silent = await state(**place, idempotencyKey="n-2")
        assert (silent["attempted"], silent["status"], "succeeded" in silent) == (False, "silent", False)
        await gate.engine.reload(replace(gate.engine.rules, sending=SendPolicy(default=SendAction.DENY)))
        held = await state(**place, idempotencyKey="n-3")
        assert (held["attempted"], held["status"], held["succeeded"]) == (False, "suppressed", False)
        assert "not sent, because of" in held["reason"]


async def test_of_an_answer_whose_delivery_is_gone_nobody_is_told_that_it_failed(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("Dinner at eight."),))
        await ran(client, **{**DINNER, "to": "bob", "channel": "loopback"})
        waited = await gate.engine.waits.for_key(OWNER, None, "n-1", 0)
        assert waited.run is not None
        gone = replace(waited, run=replace(waited.run, id="gone"))
        told = await delivered(gate.house, gone, said=True)
        assert "deliverySucceeded" not in told
        state = told["deliveryStatus"]
        assert isinstance(state, dict)
        assert (state["status"], "succeeded" in state) == ("unknown", False)


@pytest.mark.requirement("S6")
async def test_the_place_an_agent_speaks_to_is_of_one_session_and_named_by_the_owner(opened: Opened) -> None:
    async with opened() as (gate, client), gate.client(auth={"token": "bob-token"}) as bob:
        await apart(gate)
        assert f"is {WITH_BOB}" in await refusal(client, "agent", to="bob", sessionKey="main")
        assert "no channel pigeon" in await refusal(client, "agent", to="bob", channel="pigeon")
        assert "session of agent" in await refusal(client, "agent", to="bob", agentId="helper")
        assert "with `to`" in await refusal(client, "agent", threadId="t1")
        assert "owner of the gateway" in await refusal(bob, "agent", to="bob")
        assert await gate.bench.store.session(SessionKey.parse(WITH_BOB)) is None
        gate.bench.model.add((Say("Hello."),))
        assert (await ran(client, to="bob", sessionKey=WITH_BOB))["sessionKey"] == WITH_BOB


@pytest.mark.requirement("S6")
async def test_a_message_is_answered_at_the_place_it_came_from_if_that_is_of_its_session(
    opened: Opened,
) -> None:
    async with opened() as (gate, client), gate.client(auth={"token": "bob-token"}) as bob:
        await apart(gate)
        gate.bench.model.add((Say("Dinner at eight."),))
        said = {"message": "ask him", "idempotencyKey": "n-1", "sessionKey": WITH_BOB}
        await client.call("chat.send", {**said, **FROM_BOB})
        assert await gate.bench.replies(BOB) == ("Dinner at eight.",)
        assert f"is {WITH_BOB}" in await refusal(client, "chat.send", sessionKey="main", **FROM_BOB)
        assert "needs `originatingChannel`" in await refusal(
            client, "chat.send", sessionKey=WITH_BOB, originatingTo="bob"
        )
        assert "owner of the gateway" in await refusal(
            bob, "chat.send", sessionKey=WITH_BOB, originatingChannel="loopback", originatingTo="ada"
        )
        await gate.engine.settled()
        assert gate.bench.channel.replies(place(ADA)) == ()
        assert gate.bench.channel.replies(place(BOB)) == ("Dinner at eight.",)


async def test_what_the_send_policy_keeps_back_does_not_go_where_a_message_came_from(opened: Opened) -> None:
    async with opened() as (gate, client):
        await apart(gate)
        to_none = SendRule(action=SendAction.DENY, match=SendMatch(channel="loopback"))
        gate.bench.change(sending=SendPolicy(rules=(to_none,)))
        await gate.engine.reload(gate.bench.rules)
        gate.bench.model.add((Say("Dinner at eight."),))
        await client.call(
            "chat.send", {"message": "hi", "idempotencyKey": "n-1", "sessionKey": WITH_BOB, **FROM_BOB}
        )
        await client.event("chat", runId="n-1", state="final")
        await gate.engine.settled()
        assert gate.bench.channel.replies(place(BOB)) == ()


async def test_what_the_owner_tells_one_run_stands_in_its_system_text_and_in_no_other(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("one"),), (Say("two"),))
        await ran(client, extraSystemPrompt=RHYME)
        await ran(client, idempotencyKey="n-3")
        first, second = (one.system for one in gate.bench.model.requests)
        assert first.startswith(second)
        assert "Answer in rhyme." in first
        assert "rhyme" not in second
        page = await client.call("chat.history", {"sessionKey": "main"})
        assert "rhyme" not in str(page)


@pytest.mark.requirement("S6")
async def test_only_the_owner_as_an_admin_tells_a_run_more_and_not_at_any_length(opened: Opened) -> None:
    async with (
        opened() as (gate, client),
        gate.client(auth={"token": "bob-token"}) as bob,
        gate.client(scopes=["operator.write"]) as writer,
    ):
        assert "operator.admin" in await refusal(writer, "agent", extraSystemPrompt=RHYME)
        assert "owner of the gateway" in await refusal(
            bob, "agent", sessionKey=WITH_BOB, extraSystemPrompt=RHYME
        )
        assert "extraSystemPrompt" in await refusal(client, "agent", extraSystemPrompt="x" * 32_001)
        assert gate.bench.model.requests == []


@pytest.mark.requirement("P3")
async def test_a_run_that_is_taken_up_again_still_knows_what_it_was_told(tmp_path: Path) -> None:
    async with benches("sqlite", tmp_path) as bench:
        async with gate_of(bench, tmp_path) as gate, gate.client() as client:
            bench.model.add((Hang(),))
            client.send("agent", {"message": "hello", "idempotencyKey": "n-1", "extraSystemPrompt": RHYME})
            await bench.model.asked(1)
        async with gate_of(bench, tmp_path) as gate:
            bench.model.otherwise = (Say("again"),)
            await bench.model.asked(1)
            assert ["Answer in rhyme." in one.system for one in bench.model.requests] == [True]
