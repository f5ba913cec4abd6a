"""Whether answers are sent: the same for what a client says, what an agent is run for, and what a chat is answered."""

from dataclasses import replace

import pytest

from roost.core.addresses import Address, ChatType
from roost.core.admission import GroupPolicy
from roost.core.scopes import SessionScope
from roost.core.sendpolicy import SendAction, SendMatch, SendPolicy, SendRule
from roost.testing.scripts import Say
from roost.testing.wires import LocalClient
from tests.flows.gateways import ADA, chat, place
from tests.flows.served import Gate, Opened, send
from tests.flows.stages import KITCHEN

DENIED = SendPolicy(
    rules=(SendRule(action=SendAction.DENY, match=SendMatch(channel="loopback", chat_type=ChatType.DIRECT)),)
)
ELSEWHERE = SendPolicy(
    rules=(SendRule(action=SendAction.DENY, match=SendMatch(channel="loopback", chat_type=ChatType.GROUP)),)
)
SILENT = SendPolicy(default=SendAction.DENY)


async def answers(gate: Gate, client: LocalClient, name: str) -> list[str]:
    """What arrives in the chat when it is spoken to through each door."""
    before = len(gate.bench.channel.replies(place(ADA)))
    await gate.bench.say(f"auto-{name}")
    await gate.bench.channel.wait_acknowledged()
    await gate.engine.settled()
    await client.call("chat.send", send(f"send-{name}", f"s-{name}", deliver=True))
    await client.event("chat", runId=f"s-{name}", state="final")
    await client.call(
        "agent",
        {"sessionKey": "main", "message": f"agent-{name}", "idempotencyKey": f"a-{name}", "deliver": True},
        number=2,
    )
    await gate.engine.settled()
    return list(gate.bench.channel.replies(place(ADA))[before:])


async def hold(gate: Gate, policy: SendPolicy) -> None:
    await gate.engine.reload(replace(gate.engine.rules, sending=policy))


@pytest.mark.requirement("D20")
async def test_a_policy_holds_in_chat_send_agent_and_auto_reply_and_a_session_may_differ(
    opened: Opened,
) -> None:
    async with opened() as (gate, client):
        gate.bench.model.otherwise = (Say("words"),)
        all_three = ["words"] * 3
        assert await answers(gate, client, "free") == all_three
        await hold(gate, DENIED)
        assert await answers(gate, client, "by-rule") == []
        await hold(gate, ELSEWHERE)
        assert await answers(gate, client, "other-chats") == all_three
        await hold(gate, SILENT)
        assert await answers(gate, client, "by-default") == []
        await client.call("sessions.patch", {"key": "main", "sendPolicy": "allow"})
        assert await answers(gate, client, "patched") == all_three
        await hold(gate, SendPolicy())
        await client.call("chat.send", send("/send off", "off"))
        assert await answers(gate, client, "by-command") == []
        await client.call("sessions.patch", {"key": "main", "sendPolicy": None})
        assert await answers(gate, client, "again") == all_three


@pytest.mark.requirement("D20")
@pytest.mark.parametrize("first", [True, False])
async def test_a_rule_for_a_kind_of_chat_holds_in_a_session_that_was_opened_in_another(
    opened: Opened, first: bool
) -> None:
    async with opened() as (gate, _):
        gate.bench.model.otherwise = (Say("words"),)
        door = replace(gate.engine.rules.doors["loopback"], group_policy=GroupPolicy.OPEN)
        routing = replace(gate.engine.rules.routing, scope=SessionScope.GLOBAL)
        await gate.engine.reload(
            replace(gate.engine.rules, sending=ELSEWHERE, doors={"loopback": door}, routing=routing)
        )
        for grouped in (first, not first):
            said_in = KITCHEN if grouped else chat(ADA)
            await gate.bench.channel.say("hello", sender=ADA, chat=said_in, mentions_bot=True)
            await gate.bench.channel.wait_acknowledged()
            await gate.engine.settled()
        assert gate.bench.channel.replies(place(ADA)) == ("words",)
        assert gate.bench.channel.replies(Address(channel="loopback", to="kitchen")) == ()


@pytest.mark.requirement("D35")
async def test_a_row_tells_its_tokens(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("words"),))
        await client.call("chat.send", send("hello", "run-1"))
        await client.event("chat", state="final")
        (row,) = (await client.call("sessions.list"))["sessions"]
        counted = ("inputTokens", "outputTokens", "totalTokens", "contextTokens")
        assert all(isinstance(row[name], int) for name in counted), row
