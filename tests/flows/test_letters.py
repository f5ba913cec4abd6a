"""Messages that a client sends to a place on a channel, through the gateway's door."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.channels import ChannelAbilities
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.deliveries import DeliveryState, Rejected, Unknown
from roost.core.envelopes import Conversation
from roost.core.figures import HOUR_MS
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, text_of
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery
from roost.core.references import Viewpoint, resolve
from roost.core.scopes import DmScope, SessionScope
from roost.core.sendpolicy import SendAction, SendMatch, SendPolicy, SendRule
from roost.core.threads import BindThread, ThreadBinding
from roost.testing.scripts import Say
from roost.testing.wires import LocalClient, Refused
from tests.contract.scenes import change as change_session
from tests.contract.scenes import opened as opened_session
from tests.flows.gateways import ADA, BOB, benches, place
from tests.flows.served import Gate, Opened, gate_of

pytestmark = pytest.mark.timeout(120)

KITCHEN = Conversation(chat_type=ChatType.GROUP, peer="-100")
IN_KITCHEN = Address(channel="loopback", to="-100")
HERE = Viewpoint(agent="main", main_name="main", scope=SessionScope.PER_SENDER, traits=KNOWN_CHANNELS)


def letter(to: str, text: str, name: str, **more: object) -> dict[str, object]:
    return {"to": to, "message": text, "idempotencyKey": name, **more}


async def said(gate: Gate, key: str) -> list[str]:
    page = await gate.bench.store.history(HistoryQuery(key=resolve(key, HERE).key))
    return [text_of(one.body) for one in page.entries if isinstance(one.body, AssistantMessage)]


async def change(gate: Gate, **rules: Any) -> None:
    gate.bench.change(**rules)
    await gate.engine.reload(gate.bench.rules)


async def refusal(client: LocalClient, *asked: Any) -> str:
    with pytest.raises(Refused) as refused:
        await client.call(*asked)
    return str(refused.value.error["message"])


async def test_a_message_goes_to_a_place_and_stands_where_its_answer_will_come(opened: Opened) -> None:
    async with opened() as (gate, client):
        await change(gate, routing=gate.bench.rules.routing.__class__(dm_scope=DmScope.PER_CHANNEL_PEER))
        told = await client.call("send", letter("bob", "Dinner at eight?", "n-1"))
        assert gate.bench.channel.replies(place(BOB)) == ("Dinner at eight?",)
        assert told["state"] == "confirmed"
        assert (told["runId"], told["channel"]) == ("n-1", "loopback")
        assert told["messageId"].startswith("out-")
        key = "agent:main:loopback:direct:bob"
        assert await said(gate, key) == ["Dinner at eight?"]
        gate.bench.model.add((Say("Eight it is."),))
        await gate.bench.say("yes", BOB)
        assert await gate.bench.replies(BOB, 2) == ("Dinner at eight?", "Eight it is.")
        assert await said(gate, key) == ["Dinner at eight?", "Eight it is."]


@pytest.mark.requirement("P29")
async def test_the_log_says_for_what_a_message_was_sent(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    params = letter("bob", "Dinner at eight?", "n-1")
    asked = {"type": "req", "id": "r", "method": "send", "params": params}
    with caplog.at_level(logging.INFO, logger="roost"):
        async with opened() as (_, client):
            client.wire.to_gateway.send_nowait(
                json.dumps({**asked, "traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
            )
            sent = (await client.answer("r"))["payload"]["deliveryId"]
    lines = [one for one in caplog.records if sent in one.getMessage()]
    assert [one.getMessage() for one in lines] == [
        f"delivery {sent} was taken",
        f"delivery {sent} is confirmed",
    ]
    assert lines[0].__dict__["trace"] == trace
    assert {one.__dict__["session"] for one in lines} == {"agent:main:main"}


@pytest.mark.requirement("P14")
async def test_the_same_key_is_the_same_message(opened: Opened) -> None:
    async with opened() as (gate, client):
        first = await client.call("send", letter("bob", "one", "n-1"))
        assert await client.call("send", letter("bob", "one", "n-1")) == first
        assert gate.bench.channel.replies(place(BOB)) == ("one",)
        assert await client.call("send", letter("bob", "one", "n-2")) != first
        assert gate.bench.channel.replies(place(BOB)) == ("one", "one")


async def test_a_long_message_is_sent_in_parts_and_told_of_when_all_have_arrived(opened: Opened) -> None:
    async with opened() as (gate, client):
        long = "word " * 1_500
        told = await client.call("send", letter("bob", long, "n-1"))
        parts = gate.bench.channel.replies(place(BOB))
        assert (len(parts), told["state"]) == (2, "confirmed")
        assert await client.call("send", letter("bob", long, "n-1")) == told
        assert len(gate.bench.channel.replies(place(BOB))) == 2


async def test_what_did_not_arrive_is_told_as_that_each_time(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.channel.answer_next(Rejected(error="blocked"))
        for _ in range(2):
            words = await refusal(client, "send", letter("bob", "one", "n-1"))
            assert words.startswith("it was not sent: blocked (look at")
        assert gate.bench.channel.replies(place(BOB)) == ()
        assert len(await gate.bench.store.deliveries(DeliveryState.FAILED, 9)) == 1


async def test_what_nobody_knows_to_have_arrived_is_told_as_that(tmp_path: Path) -> None:
    async with benches("memory", tmp_path) as bench:
        bench.channel = LoopbackChannel(abilities=ChannelAbilities(longest=4_000))
        bench.channel.answer_next(Unknown(error="no answer"))
        async with gate_of(bench, tmp_path) as gate, gate.client() as client:
            words = await refusal(client, "send", letter("eve", "two", "n-2"))
        assert "before sending it again" in words


@pytest.mark.requirement("D20")
async def test_a_group_is_known_by_its_place_and_by_the_policy_about_groups(opened: Opened) -> None:
    async with opened() as (gate, client):
        door = ChannelPolicy(
            dm_policy=DmPolicy.OPEN,
            owner_ids=("loopback:ada",),
            group_policy=GroupPolicy.OPEN,
            require_mention=False,
        )
        await change(gate, doors={"loopback": door})
        gate.bench.model.add((Say("Hello kitchen."),))
        await gate.bench.channel.say("hi", sender=BOB, chat=KITCHEN)
        await gate.bench.channel.wait_replies(IN_KITCHEN)
        key = "agent:main:loopback:group:-100"
        await client.call("send", letter("-100", "Tea is ready.", "n-1"))
        assert await said(gate, key) == ["Hello kitchen.", "Tea is ready."]
        no_groups = SendPolicy(
            rules=(SendRule(action=SendAction.DENY, match=SendMatch(chat_type=ChatType.GROUP)),)
        )
        await change(gate, sending=no_groups)
        words = await refusal(client, "send", letter("-100", "More tea?", "n-2"))
        assert words.startswith("not sent, because of session.sendPolicy.rules[0]")
        assert await said(gate, key) == ["Hello kitchen.", "Tea is ready."]
        (denial,) = await gate.bench.store.denials(10)
        assert (denial.operation, denial.rule) == ("send", "session.sendPolicy.rules[0]")
        await client.call("send", letter("bob", "Only you.", "n-3"))


async def test_a_place_that_cannot_be_is_refused(opened: Opened) -> None:
    async with opened() as (_, client):
        assert "no channel pigeon" in await refusal(client, "send", letter("bob", "x", "n", channel="pigeon"))
        assert "is no place on loopback" in await refusal(client, "send", letter(" bob", "x", "n"))
        assert "without words" in await refusal(client, "send", letter("bob", "  ", "n"))
        assert "unexpected property" in await refusal(client, "send", letter("bob", "x", "n", mediaUrl="u"))


async def test_a_thread_keeps_its_session_as_long_as_it_is_bound(opened: Opened) -> None:
    side = SessionKey.named("main", "side")
    async with opened() as (gate, client):
        store, now = gate.bench.store, gate.bench.clock.now()
        await opened_session(store, side)
        for thread, since in (("t1", now), ("t2", now - 2 * HOUR_MS)):
            there = Address(channel="loopback", to="bob", thread=thread)
            bound = ThreadBinding(
                address=there, key=side, bound_by=OWNER, bound_at=since, used_at=since, max_age_ms=HOUR_MS
            )
            await change_session(store, BindThread(binding=bound), key=side)
            await client.call("send", letter("bob", f"in {thread}", thread, threadId=thread))
            assert gate.bench.channel.replies(there) == (f"in {thread}",)
        assert await said(gate, str(side)) == ["in t1"]


@pytest.mark.parametrize(
    "place_of", [{"to": "bob"}, {"to": "loopback:bob"}, {"target": "bob", "to": "loopback:bob"}]
)
async def test_the_action_of_a_channel_is_to_send(opened: Opened, place_of: dict[str, str]) -> None:
    async with opened() as (gate, client):
        asked = {
            "channel": "loopback",
            "action": "send",
            "params": {**place_of, "message": "hello", "pin": False, "json": True, "__agentId": "main"},
            "idempotencyKey": "n-1",
        }
        told = await client.call("message.action", asked)
        assert (told["ok"], told["chatId"], told["state"]) == (True, "bob", "confirmed")
        assert await client.call("message.action", asked) == told
        assert gate.bench.channel.replies(place(BOB)) == ("hello",)
        lost = {**asked, "params": {"message": "hello"}}
        assert "required property 'to'" in await refusal(client, "message.action", lost)
        await refusal(client, "message.action", {**asked, "action": "react"})
        pinned = {**asked, "params": {"to": "bob", "message": "hello", "pin": True}}
        assert "/params/pin" in await refusal(client, "message.action", pinned)


async def test_nobody_but_the_owner_writes_to_places(opened: Opened) -> None:
    async with opened() as (gate, _), gate.client(auth={"token": "bob-token"}) as bob:
        await refusal(bob, "send", letter("ada", "x", "n"))
        assert gate.bench.channel.replies(place(ADA)) == ()
    async with opened() as (gate, _), gate.client(scopes=["operator.read"]) as reader:
        assert "operator.write" in await refusal(reader, "send", letter("ada", "x", "n"))
