"""A mailbox between sessions: what was sent and what became of it, listed by either side and nobody else."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from roost.core.addressed import Addressed
from roost.core.exchanges import ExchangeState, Phase, Receipt
from roost.core.keys import SessionKey
from roost.core.messages import text_of
from roost.core.models import FailureKind, ModelRequest
from roost.core.principals import OWNER
from roost.ports import Topic, TopicKind
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import Fail, Say, Script, Until
from tests.flows.gateways import ADA, BOB, Bench, benches
from tests.flows.stages import GROUP, IN_KITCHEN, KITCHEN, MAIN, OPS, Stage, replies, result, send, staged

pytestmark = pytest.mark.timeout(120)

BROKEN, BUSY = SessionKey.named("broken", "main"), SessionKey.named("busy", "main")
BOBS = SessionKey.parse("agent:main:loopback:direct:bob")
AGENTS = frozenset({"main", "ops", "broken", "busy"})


def on_stage(stage: Stage, gate: anyio.Event) -> None:
    stage.agents, stage.max_turns = AGENTS, 0
    stage.play(OPS, otherwise=replies("three"))
    stage.play(BROKEN, otherwise=(Fail(FailureKind.PERMANENT, "no model"),))

    def busy(request: ModelRequest) -> Script:
        return (Until(gate), *replies("at last")(request))

    stage.play(BUSY, otherwise=busy)


def receipts(told: dict[str, Any]) -> dict[str, str]:
    return {row["message"]: row["receipt"] for row in told["messages"]}


async def come_to(stage: Stage, **states: ExchangeState) -> None:
    """Wait until the messages to the busy session are so far, and what follows from them is over."""

    async def so_far() -> bool | None:
        found = await stage.bench.store.exchanges(MAIN, BUSY)
        over = all(one.phase is Phase.DONE for one in found if one.state.ended)
        return (over and {one.request: one.state for one in found} == states) or None

    await stage.bench.store.wait_for(Topic(TopicKind.SESSION, str(BUSY)), so_far)


async def first_life(folder: Path) -> dict[str, Any]:
    """What the sender lists while one message is answered, one failed, one is being read and one waits."""
    async with benches("sqlite", folder) as bench:
        stage = staged(bench)
        on_stage(stage, anyio.Event())
        asking = stage.play(
            MAIN,
            send("c1", agentId="ops", message="how many?"),
            send("c2", agentId="broken", message="are you there?"),
            send("c3", agentId="busy", message="first", timeoutSeconds=0),
            send("c4", agentId="busy", message="second", timeoutSeconds=0),
            (Say("Sent."),),
            send("c5", mailbox=10),
            (Say("Listed."),),
        )
        async with bench.serving():
            await bench.say("ask them all")
            assert await bench.replies(ADA) == ("Sent.",)
            await come_to(stage, first=ExchangeState.RUNNING, second=ExchangeState.ACCEPTED)
            await bench.say("what became of it?")
            await bench.replies(ADA, 2)
        return result(asking)


async def second_life(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the sender and one it sent to list after a restart, when everything is answered."""
    async with benches("sqlite", folder) as bench:
        stage, gate = staged(bench), anyio.Event()
        gate.set()
        on_stage(stage, gate)
        asking = stage.play(MAIN, send("d1", mailbox=10), (Say("Listed."),), otherwise=(Say("NO_REPLY"),))
        asked = stage.play(OPS, send("d2", mailbox=10), (Say("Listed."),))
        async with bench.serving() as (engine, _):
            await come_to(stage, first=ExchangeState.REPLIED, second=ExchangeState.REPLIED)
            await engine.settled()
            await bench.say("and now?", external_id="after")
            await bench.replies(ADA)
            await engine.inbox.say(
                Addressed(
                    key=OPS, principal=OWNER, text="what were you asked?", run_id="r", idempotency_key="r"
                )
            )
            await engine.settled()
        return result(asking), result(asked)


@pytest.mark.requirement("F1", "P6")
async def test_either_side_lists_what_was_sent_and_what_became_of_it_after_a_restart_too(
    tmp_path: Path,
) -> None:
    before = await first_life(tmp_path)
    assert receipts(before) == {
        "how many?": Receipt.REPLIED,
        "are you there?": Receipt.DEAD,
        "first": Receipt.READ,
        "second": Receipt.WAITING,
    }
    threads = {row["thread"] for row in before["messages"]}
    assert (len(threads), before["hasMore"]) == (1, False)
    after, other_side = await second_life(tmp_path)
    assert receipts(after) == {
        "how many?": Receipt.REPLIED,
        "are you there?": Receipt.DEAD,
        "first": Receipt.REPLIED,
        "second": Receipt.REPLIED,
    }
    assert {row["thread"] for row in after["messages"]} == threads
    (received,) = other_side["messages"]
    assert (received["direction"], received["sessionKey"]) == ("received", str(MAIN))
    assert (received["receipt"], received["reply"]) == ("replied", "three")
    assert received["messageId"] in {row["messageId"] for row in after["messages"]}


@pytest.mark.requirement("F1", "P8")
async def test_nobody_but_the_two_sides_lists_a_message(tmp_path: Path) -> None:
    async with benches("sqlite", tmp_path) as bench:
        stage = staged(bench)
        stage.max_turns = 0
        stage.play(MAIN, send(agentId="ops", message="canary"), (Say("Sent."),))
        stage.play(OPS, otherwise=replies("heard"))
        bobs = stage.play(BOBS, send("b1", mailbox=10), (Say("Nothing."),))
        in_group = stage.play(GROUP, send("g1", mailbox=10), (Say("Nothing."),))
        async with bench.serving() as (engine, _):
            await bench.say("tell ops")
            await bench.replies(ADA)
            await engine.settled()
            await bench.say("what was sent?", BOB)
            await bench.replies(BOB)
            await bench.channel.say("what was sent?", sender=ADA, chat=KITCHEN)
            await bench.channel.wait_replies(IN_KITCHEN, 1)
    assert result(bobs)["messages"] == result(in_group)["messages"] == []


@pytest.mark.requirement("P6")
async def test_what_came_of_a_message_that_is_waited_for_later_is_told_in_that_call_alone() -> None:
    clock, gate = FakeClock(), anyio.Event()
    stage = staged(Bench(MemoryStore(clock), clock))

    def look(request: ModelRequest) -> Script:
        sent = json.loads(text_of(request.messages[-1]))
        return send("c2", messageId=sent["messageId"], timeoutSeconds=10)

    asking = stage.play(
        MAIN, send(agentId="ops", message="go", timeoutSeconds=0), look, otherwise=(Say("No answer."),)
    )
    stage.play(OPS, (Until(gate), Fail(FailureKind.PERMANENT, "no model")))
    store = stage.bench.store
    async with stage.bench.serving() as (engine, _):
        await stage.bench.say("tell ops")
        await asking.asked(2)

        async def waited_for() -> bool | None:
            (sent,) = await store.exchanges(MAIN, OPS)
            return sent.sent.awaited or None

        await store.wait_for(Topic(TopicKind.SESSION, str(OPS)), waited_for)
        gate.set()
        assert await stage.bench.replies() == ("No answer.",)
        await engine.settled()
    told = result(asking)
    assert (told["status"], told["error"]) == ("error", "no model")
    assert len(asking.requests) == 3
