"""What is meant for the owner of a session reaches nobody else who writes into it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.addressed import Addressed, Commands
from roost.core.addresses import Account, Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.deliveries import DeliveryState
from roost.core.envelopes import Conversation
from roost.core.keys import KeyKind, SessionKey
from roost.core.leases import Gateway
from roost.core.messages import ToolResult, text_of
from roost.core.models import ModelRequest
from roost.core.principals import OWNER
from roost.core.routing import RoutingRules
from roost.core.scopes import SessionScope
from roost.core.sessions import SessionStatus
from roost.ports import Topic, TopicKind
from roost.testing.scripts import Say, Script
from tests.flows.gateways import ADA, BOB, place
from tests.flows.nursery import MAIN, newest, nurseries, said_to, spawns, task_of
from tests.flows.served import Gate, gates, send
from tests.flows.test_budgets import tokens
from tests.flows.test_hooks import RULES, post
from tests.flows.test_jobs import DAILY
from tests.grounds import Ground

JOB = {**DAILY, "payload": {"kind": "agentTurn", "message": "the report"}, "delivery": {"mode": "announce"}}
LOST_PHONE = ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("loopback:new-phone",))
ROOM = Conversation(chat_type=ChatType.GROUP, peer="room")


def _answer(request: ModelRequest) -> Script:
    asked = text_of(request.messages[-1])
    return (Say(next((word for word in ("report", "private", "alarm") if word in asked), "hello")),)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Gate]:
    async with gates("sqlite", folder) as gate:
        gate.bench.model.otherwise = _answer
        rules = gate.engine.rules
        await gate.engine.reload(replace(rules, house=replace(rules.house, hooks=RULES)))
        yield gate


async def _told(gate: Gate) -> None:
    """A job reports to wherever the owner was last met, and so do a hook and an answer that he wants delivered."""
    async with gate.client() as client:
        job = await client.call("cron.add", JOB)
        await client.call("cron.run", {"id": job["id"]})
        await client.call("chat.send", {**send("a private thing", "n1"), "deliver": True})
        await client.call("agent.wait", {"runId": "n1", "timeoutMs": 60_000})
        assert (await post(gate, "agent", {"message": "the alarm", "deliver": True})).status_code == 200
        with anyio.fail_after(60):
            await gate.engine.settled()


@pytest.mark.requirement("P2", "P7")
async def test_a_guest_who_wrote_last_gets_neither_reports_nor_answers_of_the_owner(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate:
        await gate.bench.say("it is me", ADA)
        await gate.bench.replies(ADA)
        await gate.bench.say("a guest here", BOB)
        await gate.bench.replies(BOB)
        await _told(gate)
        assert sorted(await gate.bench.replies(ADA, 4)) == ["alarm", "hello", "private", "report"]
        assert len(await gate.bench.replies(BOB)) == 1


@pytest.mark.requirement("P7")
async def test_the_owner_is_told_in_a_chat_that_has_an_id_of_its_own(tmp_path: Path) -> None:
    room = Conversation(chat_type=ChatType.DIRECT, peer="D024BE7LH")
    at = Address(channel="loopback", to="D024BE7LH")
    async with opened(tmp_path) as gate:
        channel = gate.bench.channel
        await channel.say("it is me", sender=ADA, chat=room)
        await channel.wait_replies(at, 1)
        await _told(gate)
        await channel.wait_replies(at, 4)
        assert sorted(channel.replies(at)) == ["alarm", "hello", "private", "report"]
        await gate.engine.reload(replace(gate.engine.rules, doors={"loopback": LOST_PHONE}))
        session = await gate.bench.store.session(SessionKey.named("main", "main"))
        assert session is not None
        assert gate.engine.rules.met_at(session) is None


@pytest.mark.requirement("P2")
async def test_where_the_owner_was_never_met_nobody_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate:
        await gate.bench.say("a guest here", BOB)
        await gate.bench.replies(BOB)
        await _told(gate)
        assert len(await gate.bench.replies(BOB)) == 1


@pytest.mark.requirement("P2", "S12")
async def test_an_id_that_is_the_owners_no_more_is_told_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate:
        await gate.bench.say("it is me", ADA)
        await gate.bench.replies(ADA)
        await gate.engine.reload(replace(gate.engine.rules, doors={"loopback": LOST_PHONE}))
        await _told(gate)
        assert len(await gate.bench.replies(ADA)) == 1


@pytest.mark.requirement("P2", "S12")
@pytest.mark.parametrize(("door", "told"), [(None, 1), (LOST_PHONE, 0)], ids=["his", "his no more"])
async def test_of_a_budget_nobody_is_told_but_who_is_the_owner_now(
    door: ChannelPolicy | None, told: int, tmp_path: Path
) -> None:
    async with opened(tmp_path) as gate, gate.client() as client:
        store, rules = gate.bench.store, gate.engine.rules
        await gate.bench.say("it is me", ADA)
        await gate.bench.replies(ADA)
        doors = rules.doors if door is None else {"loopback": door}
        await gate.engine.reload(replace(rules, budgets=(tokens(1),), doors=doors))
        await client.call("chat.send", send("hello", "n1"))

        async def parked() -> bool | None:
            session = await store.session(MAIN)
            return True if session and session.status is SessionStatus.PARKED else None

        with anyio.fail_after(60):
            await store.wait_for(Topic(TopicKind.SESSION, str(MAIN)), parked)
        written = {one.id for state in DeliveryState for one in await store.deliveries(state, 10)}
        assert len(written) == 1 + told


@pytest.mark.requirement("P2")
async def test_the_one_session_of_all_speaks_to_its_owner_and_to_no_group(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate:
        door = replace(
            gate.engine.rules.door(Account("loopback")), group_policy=GroupPolicy.OPEN, require_mention=False
        )
        shared = RoutingRules(scope=SessionScope.GLOBAL)
        await gate.engine.reload(replace(gate.engine.rules, routing=shared, doors={"loopback": door}))
        room = Address(channel="loopback", to="room")
        await gate.bench.channel.say("hello", sender=BOB, chat=ROOM)
        await gate.bench.channel.wait_replies(room, 1)
        await gate.bench.say("it is me", ADA)
        await gate.bench.replies(ADA)
        await gate.bench.channel.say("hello all", sender=ADA, chat=ROOM)
        await gate.bench.channel.wait_replies(room, 2)
        session = await gate.bench.store.session(SessionKey(agent="", kind=KeyKind.GLOBAL))
        assert session is not None
        assert session.route == place(ADA)


def _spawn(request: ModelRequest) -> Script:
    if task_of(request):
        return (Say("the result"),)
    if "spawn it" in said_to(request) and not isinstance(newest(request), ToolResult):
        return spawns("count")
    return (Say("ok"),)


@pytest.mark.requirement("P2", "D67")
async def test_a_child_asked_for_in_no_chat_is_announced_to_the_owner_not_to_a_guest(tmp_path: Path) -> None:
    async with nurseries(Ground("sqlite", tmp_path), _spawn) as nursery:
        bench, engine = nursery.bench, nursery.engine()
        async with engine.serving(Gateway(name="g", holder="g")):
            for one in (ADA, BOB):
                await bench.say("hello", one)
                await bench.replies(one)
            said = Addressed(
                key=MAIN,
                principal=OWNER,
                text="spawn it",
                run_id="r",
                idempotency_key="k",
                commands=Commands.WORDS,
            )
            await engine.inbox.say(said)
            assert "the result" in (await bench.replies(ADA, 2))[1]
            assert await bench.replies(BOB) == ("ok",)
