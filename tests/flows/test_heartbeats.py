"""An agent that looks around beside the conversation of its person."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.heartbeats import PROMPT, Beat, Beating
from roost.core.jobs import AgentTurn, Announce, JobPlace, Missed
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, UserMessage, text_of
from roost.core.models import ModelRequest
from roost.core.schedules import Every
from roost.engine.gateway import Engine
from roost.engine.rules import Housekeeping, TimerRules
from roost.engine.timers import beat_id
from roost.ports import Topic, TopicKind
from roost.testing.scripts import Say
from tests.flows.gateways import Bench, benches
from tests.flows.served import gates, send
from tests.jobs import plan
from tests.scale import count

MAIN = SessionKey.named("main", "main")
DAY = 86_400_000
LOOK = Beating(
    plan=plan(
        place=JobPlace.BESIDE,
        key=MAIN,
        schedule=Every(every_ms=DAY, anchor=0),
        work=AgentTurn(message=PROMPT),
        telling=Announce(),
        missed=Missed.SKIP,
    ),
    beat=Beat(pause_ms=3 * DAY, ack_chars=30),
)


def answering(reply: Callable[[int], str]) -> Callable[[ModelRequest], tuple[Say, ...]]:
    """What a look-around is answered, by how many there were; a person is answered otherwise."""
    beats = 0

    def answer(request: ModelRequest) -> tuple[Say, ...]:
        nonlocal beats
        if PROMPT not in text_of(request.messages[-1]):
            return (Say("to you"),)
        beats += 1
        return (Say(reply(beats)),)

    return answer


async def beaten(bench: Bench, engine: Engine, times: int) -> None:
    """Look around once more, and wait until it was done so often."""
    await engine.timers.wake("main")
    name = beat_id("main")

    async def over() -> bool | None:
        if await bench.store.count_firings(name) < times:
            return None
        found = await bench.store.firings(name, limit=1)
        return True if all(one.ended_at for one in found.rows) else None

    with anyio.fail_after(120):
        await bench.store.wait_for(Topic(TopicKind.JOBS), over)


@pytest.mark.timeout(1_800)
@pytest.mark.requirement("P28")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_conversation_grows_only_by_what_look_arounds_post(kind: str, tmp_path: Path) -> None:
    total, every = count(20, 1_000), count(5, 50)
    async with benches(kind, tmp_path) as bench:
        bench.change(house=Housekeeping(timers=TimerRules(beats={"main": LOOK})))
        said = answering(lambda number: f"news {number}" if number % every == 0 else "HEARTBEAT_OK, all well")
        bench.model.add(*[said] * (total + 20))
        async with bench.serving() as (engine, _):
            messages = 0
            for number in range(1, total + 1):
                if messages < 20 and (number - 1) % (total // 20) == 0:
                    messages += 1
                    await bench.say(f"question {messages}")
                    await bench.replies(at_least=messages + (number - 1) // every)
                    await engine.settled()
                    before = await bench.store.session(MAIN)
                await beaten(bench, engine, number)
            await engine.settled()
            after = await bench.store.session(MAIN)
            posted = total // every
            assert len(await bench.replies(at_least=20 + posted)) == 20 + posted
        assert before is not None
        assert after is not None
        assert (after.session_id, after.route, after.origin, after.times.interacted) == (
            before.session_id,
            before.route,
            before.origin,
            before.times.interacted,
        )
        entries = await bench.store.entries(after.session_id)
        words = [text_of(e.body) for e in entries if isinstance(e.body, UserMessage | AssistantMessage)]
        assert len(words) == 2 * 20 + posted
        assert [word for word in words if word.startswith("news")] == [
            f"news {number}" for number in range(every, total + 1, every)
        ]
        for request in bench.model.requests:
            if PROMPT not in text_of(request.messages[-1]):
                shown = "\n".join(text_of(message) for message in request.messages)
                assert PROMPT not in shown
                assert "HEARTBEAT_OK" not in shown


async def test_nobody_is_looked_after_who_has_not_spoken(tmp_path: Path) -> None:
    async with benches("memory", tmp_path) as bench:
        bench.change(house=Housekeeping(timers=TimerRules(beats={"main": LOOK})))
        async with bench.serving() as (engine, _):

            async def moved() -> bool | None:
                job = await bench.store.job(beat_id("main"))
                return True if job is not None and (job.next_at or 0) > bench.clock.now() else None

            with anyio.fail_after(60):
                await bench.store.wait_for(Topic(TopicKind.JOBS), moved)
                await engine.timers.wake("main")
                await bench.store.wait_for(Topic(TopicKind.JOBS), moved)
        assert bench.model.requests == []
        assert await bench.store.count_firings(beat_id("main")) == 0


async def test_the_owner_is_shown_who_looks_around_and_when_it_was_last_done(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client() as client:
        rules = gate.engine.rules
        timers = TimerRules(beats={"main": LOOK})
        await gate.engine.reload(replace(rules, house=replace(rules.house, timers=timers)))
        gate.bench.model.otherwise = (Say("HEARTBEAT_OK"),)

        async def looks() -> bool | None:
            return True if await gate.bench.store.job(beat_id("main")) else None

        # Changed rules make the timers look at once.
        await gate.bench.store.wait_for(Topic(TopicKind.JOBS), looks)
        shown = {one["agentId"]: one for one in (await client.call("status"))["heartbeat"]["agents"]}
        assert (shown["main"]["enabled"], shown["main"]["everyMs"]) == (True, DAY)
        assert not shown["helper"]["enabled"]
        for enabled in (False, True):
            told = await client.call("set-heartbeats", {"enabled": enabled})
            assert told == {"ok": True, "enabled": enabled}
            agents = (await client.call("status"))["heartbeat"]["agents"]
            assert [one["enabled"] for one in agents] == [enabled, False]
        assert await client.call("last-heartbeat") is None
        await client.call("chat.send", send("hi", "one"))
        await client.event("chat", state="final")
        await gate.engine.settled()
        await beaten(gate.bench, gate.engine, 1)
        last = await client.call("last-heartbeat")
        assert (last["agentId"], last["status"]) == ("main", "ok")
        assert (await client.call("cron.runs", {"scope": "all"}))["total"] == 0
        async with gate.client(auth={"token": "alice-token"}) as alice:
            assert await alice.call("last-heartbeat") is None
