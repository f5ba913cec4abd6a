"""Agents that send each other messages, from a person's word on a channel to what is stored, shown and sent."""

import json
from typing import Any

import anyio
import pytest

from roost.core.a2a import HOP_LIMIT
from roost.core.addressed import Addressed
from roost.core.effects import ChangeSession, Effects
from roost.core.exchanges import ExchangeState, Phase
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, ToolResult, UserMessage, text_of
from roost.core.models import FailureKind, ModelRequest
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery
from roost.core.runs import Request
from roost.core.sessions import Labels
from roost.core.snapshots import Snapshot
from roost.core.turntaking import Limits
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from roost.testing.scripts import Fail, Say, Script, Until
from tests.flows.gateways import ADA, BOB, Bench, place
from tests.flows.stages import (
    ANNOUNCE_STEP,
    GROUP,
    IN_KITCHEN,
    KITCHEN,
    MAIN,
    OPS,
    REPLY_STEP,
    Plays,
    Stage,
    replies,
    result,
    send,
    staged,
    step,
)

pytestmark = pytest.mark.timeout(30)


@pytest.mark.requirement("D01", "D13", "D16", "D58", "D60")
async def test_a_session_asks_another_and_has_its_reply_inline(stage: Stage) -> None:
    asking = stage.play(
        MAIN,
        send(agentId="ops", message="how many?"),
        (Say("Ops says three."),),
        otherwise=(Say("REPLY_SKIP"),),
    )
    asked = stage.play(OPS, otherwise=replies("three"))
    async with stage.bench.serving():
        await stage.bench.say("ask ops")
        assert await stage.bench.replies() == ("Ops says three.",)
        exchange = await stage.over()
    told = result(asking, 1)
    assert (told["status"], told["reply"], told["sessionKey"]) == ("ok", "three", str(OPS))
    assert (told["messageId"], told["runId"], told["state"]) == (exchange.id, exchange.sent.run_id, "replied")
    assert told["delivery"] == {"status": "pending", "mode": "announce"}
    message, block = (text_of(one) for one in asked.requests[0].messages[-2:])
    assert message.startswith(
        f"[Inter-session message] sourceSession={MAIN} sourceChannel=loopback sourceTool=sessions_send isUser=false\n"
    )
    assert f"Agent 1 (requester): {MAIN} on loopback" in block
    page = await stage.bench.store.history(HistoryQuery(key=OPS))
    (first,) = (entry.body for entry in page.entries if isinstance(entry.body, UserMessage))
    assert (first.provenance.kind, first.provenance.source_session) == (
        ProvenanceKind.INTER_SESSION,
        str(MAIN),
    )


@pytest.mark.requirement("D13", "D58", "P6")
async def test_what_is_only_sent_is_accepted_and_its_states_can_be_read_later(stage: Stage) -> None:
    gate = anyio.Event()
    held: dict[str, Any] = {}

    def look(request: ModelRequest) -> Script:
        held.update(json.loads(text_of(request.messages[-1])))
        return send("c2", messageId=held["messageId"], timeoutSeconds=0)

    def look_again(request: ModelRequest) -> Script:
        held["then"] = json.loads(text_of(request.messages[-1]))
        gate.set()
        return send("c3", messageId=held["messageId"], timeoutSeconds=10)

    asking = stage.play(
        MAIN,
        send(agentId="ops", message="go", timeoutSeconds=0),
        look,
        look_again,
        (Say("Sent."),),
        otherwise=(Say("REPLY_SKIP"),),
    )
    stage.play(OPS, (Until(gate), Say("done")), otherwise=replies("x"))
    async with stage.bench.serving():
        await stage.bench.say("tell ops")
        assert await stage.bench.replies() == ("Sent.",)
        await stage.over()
    assert (held["status"], held["targetDisposition"]) == ("accepted", "queued")
    assert held["delivery"] == {"status": "pending", "mode": "announce"}
    assert held["then"]["status"] == "accepted"
    assert held["then"]["state"] in ("accepted", "delivered", "running")
    ended = result(asking, 3)
    assert (ended["status"], ended["reply"], ended["messageId"]) == ("ok", "done", held["messageId"])


@pytest.mark.requirement("D13", "D14", "P6")
async def test_a_wait_that_ends_leaves_the_run_going_and_the_reply_comes_later() -> None:
    clock = FakeClock()
    stage, gate = staged(Bench(MemoryStore(clock), clock)), anyio.Event()
    asking = stage.play(
        MAIN,
        send(agentId="ops", message="slowly", timeoutSeconds=1),
        (Say("Not yet."),),
        otherwise=(Say("REPLY_SKIP"),),
    )
    asked = stage.play(OPS, (Until(gate), Say("here it is")), otherwise=replies("x", last="told you"))
    async with stage.bench.serving():
        await stage.bench.say("ask ops")
        await asked.asked(1)
        clock.advance(1_000)
        assert await stage.bench.replies() == ("Not yet.",)
        told = result(asking, 1)
        assert (told["status"], told["sentBeforeError"], told["state"]) == ("timeout", True, "running")
        assert {"runId", "messageId", "sessionKey", "error", "delivery"} <= told.keys()
        gate.set()
        ended = await stage.over()
    assert (ended.state, ended.first_reply) == (ExchangeState.REPLIED, "here it is")
    assert "here it is" in await stage.said(OPS)
    assert "here it is" in await stage.said(MAIN)
    assert "told you" in await stage.said(OPS)


@pytest.mark.requirement("P6")
async def test_who_was_stopped_hears_nothing_more_of_what_it_asked(stage: Stage) -> None:
    gate = anyio.Event()
    asking = stage.play(MAIN, send(agentId="ops", message="slowly"), otherwise=(Say("what?"),))
    asked = stage.play(OPS, (Until(gate), Say("here it is")), otherwise=replies("x"))
    async with stage.bench.serving() as (engine, _):
        await stage.bench.say("ask ops")
        await asked.asked(1)
        await stage.bench.say("/stop")
        assert len(await stage.bench.replies()) == 1
        gate.set()
        ended = await stage.over()
        with anyio.fail_after(20):
            await engine.settled()
    assert (ended.state, ended.first_reply) == (ExchangeState.REPLIED, "here it is")
    assert (len(asking.requests), len(asked.requests)) == (1, 1)
    assert "here it is" in await stage.said(OPS)


@pytest.mark.requirement("P6")
async def test_what_was_sent_before_a_stop_reaches_the_chat_it_was_sent_to(stage: Stage) -> None:
    gate = anyio.Event()
    sent = send(sessionKey=str(GROUP), message="dinner at seven", timeoutSeconds=0)
    asking = stage.play(MAIN, sent, (Until(anyio.Event()),), otherwise=(Say("what?"),))
    held = iter(((Say("hello all"),), (Until(gate), Say("fine"))))
    asked = stage.play(GROUP, otherwise=lambda request: next(held, (Say("Dinner is at seven!"),)))
    async with stage.bench.serving() as (engine, _):
        await stage.bench.channel.say("hi", sender=BOB, chat=KITCHEN)
        await stage.bench.channel.wait_replies(IN_KITCHEN, 1)
        await stage.bench.say("tell the kitchen, then look outside")
        await asking.asked(2)
        await asked.asked(2)
        await stage.bench.say("/stop")
        assert len(await stage.bench.replies()) == 1
        gate.set()
        assert await stage.bench.channel.wait_replies(IN_KITCHEN, 2) == ("hello all", "Dinner is at seven!")
        with anyio.fail_after(20):
            await engine.settled()
    assert len(asking.requests) == 2


@pytest.mark.requirement("D13")
@pytest.mark.parametrize(
    ("script", "status"),
    [((Fail(FailureKind.PERMANENT, "no model"),), "error"), ((Say("NO_REPLY"),), "no_reply")],
)
async def test_a_target_that_fails_or_says_nothing_is_told_as_such(
    stage: Stage, script: Script, status: str
) -> None:
    asking = stage.play(MAIN, send(agentId="ops", message="go"), (Say("Well."),))
    stage.play(OPS, script)
    async with stage.bench.serving():
        await stage.bench.say("ask ops")
        await stage.bench.replies()
        await stage.over()
    told = result(asking)
    assert (told["status"], told["delivery"]["status"]) == (status, "skipped")
    assert told.get("sentBeforeError", False) is (status == "error")
    assert len(asking.requests) == 2


@pytest.mark.requirement("D17", "D18", "D60", "D61")
async def test_replies_go_back_and_forth_and_the_target_announces_in_its_chat(stage: Stage) -> None:
    stage.max_turns = 2
    turns = iter(("tell me more", "REPLY_SKIP"))

    def requester(request: ModelRequest) -> Script:
        return (Say(next(turns)),) if step(request) == REPLY_STEP else (Say("Thanks."),)

    asking = stage.play(MAIN, send(sessionKey=str(GROUP), message="dinner?"), otherwise=requester)
    asked = stage.play(GROUP, (Say("hello all"),), otherwise=replies("pasta", "with basil", "We eat pasta."))
    async with stage.bench.serving():
        await stage.bench.channel.say("hi", sender=BOB, chat=KITCHEN)
        await stage.bench.channel.wait_replies(IN_KITCHEN, 1)
        await stage.bench.say("ask the kitchen")
        assert await stage.bench.replies() == ("Thanks.",)
        ended = await stage.over()
        shown = await stage.bench.channel.wait_replies(IN_KITCHEN, 2)
    assert shown == ("hello all", "We eat pasta.")
    assert (ended.first_reply, ended.latest_reply, ended.turn) == ("pasta", "with basil", 2)
    back = text_of(asking.requests[-1].messages[-2])
    assert back.startswith(f"[Inter-session message] sourceSession={GROUP} sourceChannel=loopback")
    block = text_of(asked.requests[-1].messages[-1])
    for line in ("Original request:\n> dinner?", "Round 1 reply:\n> pasta", "Latest reply:\n> with basil"):
        assert line in block
    assert await stage.bench.replies() == ("Thanks.",)


@pytest.mark.requirement("D18", "D19")
async def test_an_announce_that_fails_or_skips_leaves_the_status_ok(stage: Stage) -> None:
    stage.max_turns = 0
    asking = stage.play(MAIN, send(agentId="ops", message="go"), (Say("Good."),))

    def asked(request: ModelRequest) -> Script:
        return (Fail(FailureKind.PERMANENT),) if step(request) == ANNOUNCE_STEP else (Say("x"),)

    stage.play(OPS, otherwise=asked)
    async with stage.bench.serving():
        await stage.bench.say("ask ops")
        await stage.bench.replies()
        ended = await stage.over()
    assert result(asking)["status"] == "ok"
    assert (ended.state, ended.phase) == (ExchangeState.REPLIED, Phase.DONE)


def forwarding(to: str) -> Plays:
    """Passes on everything it is asked, and answers with what came of it."""

    def answer(request: ModelRequest) -> Script:
        if isinstance(request.messages[-1], ToolResult):
            return (Say("passed on"),)
        return send(f"c{len(request.messages)}", agentId=to, message="pass it on", timeoutSeconds=30)

    return answer


@pytest.mark.requirement("P15")
@pytest.mark.parametrize("turns", [1, 2])
async def test_a_ring_of_seventeen_agents_stops_at_the_first_revisit(stage: Stage, turns: int) -> None:
    names = ["main", *(f"a{number}" for number in range(1, HOP_LIMIT + 1))]
    stage.agents = frozenset(names)
    stage.max_turns = turns
    for name, to in zip(names, [*names[1:], names[0]], strict=True):
        stage.play(SessionKey.named(name, "main"), otherwise=forwarding(to))
    stage.bench.change(limits=Limits(ceiling=4))
    async with stage.bench.serving() as (engine, _):
        await stage.bench.say("pass it on")
        assert await stage.bench.replies() == ("passed on",)
        await engine.settled()
    denials = await stage.bench.store.denials(1_000)
    (cycle,) = (one for one in denials if one.rule == "cycle")
    path = " → ".join(str(SessionKey.named(name, "main")) for name in names[:-1])
    assert path in cycle.reason
    assert (cycle.caller, cycle.target) == (SessionKey.named(names[-1], "main"), str(MAIN))
    asked = [step(request) for model in stage.plays.values() for request in model.requests]
    firsts = [one for one in asked if one not in (REPLY_STEP, ANNOUNCE_STEP)]
    assert len(firsts) == 2 * len(names)
    assert len(asked) <= 2 * (2 + turns) * len(names)


@pytest.mark.requirement("P12")
async def test_with_room_for_one_run_sessions_wait_for_each_other_to_the_end(stage: Stage) -> None:
    deep = SessionKey.named("deep", "main")
    stage.agents = frozenset({"main", "ops", "deep"})
    stage.max_turns = 0
    stage.play(MAIN, send(agentId="ops", message="down"), (Say("top"),))
    stage.play(OPS, send(agentId="deep", message="down"), (Say("middle"),), otherwise=replies("x"))
    stage.play(deep, otherwise=replies("bottom"))
    stage.bench.change(limits=Limits(ceiling=1))
    async with stage.bench.serving() as (engine, _):
        await stage.bench.say("go down")
        assert await stage.bench.replies() == ("top",)
        await engine.settled()
    assert await stage.said(deep) == ["down", "bottom", "ANNOUNCE_SKIP"]


async def test_a_label_names_a_session(stage: Stage) -> None:
    stage.max_turns = 0
    asking = stage.play(MAIN, send(label="kitchen", message="dinner?"), (Say("Pasta."),))
    stage.play(GROUP, (Say("hello"),), otherwise=replies("pasta"))

    def labelled(snapshot: Snapshot) -> Effects:
        return (ChangeSession(key=GROUP, labels=Labels(label="kitchen")),)

    async with stage.bench.serving():
        await stage.bench.channel.say("hi", sender=BOB, chat=KITCHEN)
        await stage.bench.channel.wait_replies(IN_KITCHEN, 1)
        await stage.bench.store.change_session(GROUP, labelled)
        await stage.bench.say("ask the kitchen")
        assert await stage.bench.replies() == ("Pasta.",)
    assert result(asking)["reply"] == "pasta"


CHILD = SessionKey.parse("agent:main:subagent:one")


@pytest.mark.requirement("P6")
@pytest.mark.parametrize(
    ("script", "heard"),
    [((Say("found it"),), "found it"), ((Fail(FailureKind.PERMANENT, "no model"),), "no model")],
)
async def test_what_a_child_says_to_a_sender_that_does_not_wait_comes_as_a_message(
    stage: Stage, script: Script, heard: str
) -> None:
    def late(request: ModelRequest) -> Script:
        assert step(request) == "Agent-to-agent late reply."
        return (Say("NO_REPLY"),)

    row = builders.session(CHILD, parent=MAIN)
    asking = stage.play(
        MAIN, send(sessionKey=str(CHILD), message="look", timeoutSeconds=0), (Say("Sent."),), otherwise=late
    )
    stage.play(CHILD, script)
    async with stage.bench.serving() as (engine, _):
        await stage.bench.store.change_session(CHILD, lambda _: (builders.opening(row, "child-1"),))
        await stage.bench.say("send the child")
        assert await stage.bench.replies() == ("Sent.",)
        await engine.settled()
    assert (result(asking, 1)["status"], result(asking, 1)["delivery"]["status"]) == ("accepted", "skipped")
    message = text_of(asking.requests[2].messages[-2])
    assert message.startswith(f"[Inter-session message] sourceSession={CHILD}")
    assert heard in message
    assert (await stage.exchange()).phase is Phase.DONE
    assert stage.bench.channel.replies(place(ADA)) == ("Sent.",)


@pytest.mark.requirement("P6")
async def test_a_message_that_is_not_read_before_its_sender_had_to_be_done_has_expired() -> None:
    clock = FakeClock()
    stage, gate = staged(Bench(MemoryStore(clock, FakeClock()), clock)), anyio.Event()
    asking = stage.play(
        MAIN,
        send(agentId="ops", message="in time?", timeoutSeconds=0),
        lambda request: send("c2", messageId=json.loads(text_of(request.messages[-1]))["messageId"]),
        (Say("Sent."),),
        otherwise=(Say("I heard."),),
    )
    busy = stage.play(OPS, (Until(gate), Say("at last")))

    def said(key: SessionKey, text: str, request: Request) -> Addressed:
        return Addressed(
            key=key, principal=OWNER, text=text, run_id=text, idempotency_key=text, request=request
        )

    async with stage.bench.serving() as (engine, _):
        await engine.inbox.say(said(OPS, "work", Request()))
        await busy.asked(1)
        await engine.inbox.say(said(MAIN, "ask ops", Request(longest_ms=5_000)))
        await asking.asked(3)
        clock.advance(5_000)
        gate.set()
        ended = await stage.over()
        await asking.asked(4)
        await engine.settled()
    assert result(asking, 2)["state"] == "accepted"
    assert (ended.state, ended.deadline) == (ExchangeState.EXPIRED, ended.created_at + 5_000)
    assert len(busy.requests) == 1
    assert any("its time was over before it began" in text for text in await stage.said(MAIN))
