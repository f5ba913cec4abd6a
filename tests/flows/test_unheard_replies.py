"""A reply that is there while the turn that waits for it ends before it heard: its session is told all the same."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import pytest

from roost.core.exchanges import ExchangeState
from roost.core.messages import text_of
from roost.core.models import FailureKind, ModelRequest
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.recovery import MAX_AGE_MS
from roost.engine.scheduler import RUNS
from roost.ports import Topic, TopicKind
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Fail, Say, Script, Until
from tests.flows.gateways import Bench
from tests.flows.stages import MAIN, OPS, Plays, Stage, replies, result, send, staged, step

Found = TypeVar("Found")
LATE = "Agent-to-agent late reply."
OF_OPS = Topic(TopicKind.SESSION, str(OPS))

pytestmark = [pytest.mark.timeout(30), pytest.mark.requirement("P6")]


class Deaf(MemoryStore):
    """Wakes nobody of its gateway who waits for what another agent says."""

    async def wait_for(self, topic: Topic, check: Callable[[], Awaitable[Found | None]]) -> Found:
        if topic != OF_OPS:
            return await super().wait_for(topic, check)
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes it")

    async def seen(self, check: Callable[[], Awaitable[Found | None]]) -> Found:
        """What is found once something came of a message to the other agent."""
        return await super().wait_for(OF_OPS, check)


@pytest.fixture
def stage(clock: FakeClock) -> Stage:
    stage = staged(Bench(Deaf(clock, FakeClock()), clock))
    stage.max_turns = 0
    stage.bench.change(queue=QueuePolicy(base=QueueSettings(mode=QueueMode.INTERRUPT, debounce_ms=0)))
    return stage


def asking(stage: Stage, answer: Script | Plays) -> ScriptedModel:
    stage.play(OPS, otherwise=answer)
    return stage.play(MAIN, send("c1", sessionKey=str(OPS), message="how many?"), otherwise=(Say("I see."),))


async def until_ended(stage: Stage, state: ExchangeState) -> None:
    """Until something came of the message, of which the turn that waits has not heard."""

    async def ended() -> bool | None:
        return (await stage.exchange()).state is state or None

    await stage.bench.say("ask ops")
    await stage.plays[OPS].asked(1)
    await stage.bench.store.wait_for(RUNS, ended)


@pytest.mark.parametrize(
    ("answer", "state", "told"),
    [
        (replies("three"), ExchangeState.REPLIED, "three"),
        ((Fail(FailureKind.PERMANENT),), ExchangeState.FAILED, "There is no reply to the message"),
    ],
    ids=["a reply", "a failure"],
)
async def test_who_is_interrupted_before_it_heard_of_a_reply_is_told_after_what_interrupted(
    stage: Stage, answer: Script | Plays, state: ExchangeState, told: str
) -> None:
    model = asking(stage, answer)
    async with stage.bench.serving() as (engine, _):
        await until_ended(stage, state)
        await stage.bench.say("something else")
        await stage.bench.replies()
        await engine.settled()
    _, other, late = model.requests
    assert text_of(other.messages[-1]).endswith("something else")
    assert step(late) == LATE
    assert sum(told in text for text in await stage.said(MAIN)) == 1


async def test_who_is_interrupted_while_it_asks_again_what_came_of_a_message_is_told(
    stage: Stage, clock: FakeClock
) -> None:
    store, free = Deaf(clock, FakeClock()), anyio.Event()
    stage.bench.store = store
    stage.play(OPS, otherwise=(Until(free), Say("three")))

    def act(request: ModelRequest) -> Script:
        said = text_of(request.messages[-1])
        if said.endswith("ask ops"):
            return send("c1", sessionKey=str(OPS), message="how many?", timeoutSeconds=0)
        if said.endswith("and now?"):
            return send("c2", messageId=result(model)["messageId"], timeoutSeconds=60)
        return (Say("I see."),)

    async def waits() -> bool | None:
        return True if (await stage.exchange()).sent.awaited else None

    async def replied() -> bool | None:
        return (await stage.exchange()).state is ExchangeState.REPLIED or None

    model = stage.play(MAIN, otherwise=act)
    async with stage.bench.serving() as (engine, _):
        await stage.bench.say("ask ops")
        await stage.bench.replies()
        await stage.bench.say("and now?")
        await store.seen(waits)
        free.set()
        await store.seen(replied)
        await stage.bench.say("something else")
        await stage.bench.replies(at_least=2)
        await engine.settled()
    assert step(model.requests[-1]) == LATE
    assert (await stage.said(MAIN)).count("three") == 1


async def test_who_hears_of_a_reply_in_a_turn_of_the_exchange_is_told_of_it_once(stage: Stage) -> None:
    stage.max_turns = 1
    model = asking(stage, replies("three"))
    async with stage.bench.serving() as (engine, _):
        await until_ended(stage, ExchangeState.REPLIED)
        await stage.bench.say("something else")
        await stage.bench.replies()
        await engine.settled()
    assert step(model.requests[-1]) != LATE
    assert sum("three" in text for text in await stage.said(MAIN)) == 1


async def test_who_is_stopped_before_it_heard_of_a_reply_is_told_nothing(stage: Stage) -> None:
    model = asking(stage, replies("three"))
    async with stage.bench.serving() as (engine, _):
        await until_ended(stage, ExchangeState.REPLIED)
        await stage.bench.say("/stop")
        await stage.bench.replies()
        await engine.settled()
    assert len(model.requests) == 1


async def test_who_was_left_for_too_long_in_a_call_is_told_the_reply_that_is_there(
    stage: Stage, clock: FakeClock
) -> None:
    model = asking(stage, replies("three"))
    async with stage.bench.serving():
        await until_ended(stage, ExchangeState.REPLIED)
    clock.advance(MAX_AGE_MS + 1)
    async with stage.bench.serving() as (engine, _):
        await engine.settled()
    assert step(model.requests[-1]) == LATE
    assert "three" in await stage.said(MAIN)


async def test_a_reply_that_was_heard_is_told_once(stage: Stage) -> None:
    stage.bench.store = MemoryStore(stage.bench.clock)
    model = asking(stage, replies("three"))
    async with stage.bench.serving() as (engine, _):
        await stage.bench.say("ask ops")
        assert await stage.bench.replies() == ("I see.",)
        await engine.settled()
    assert len(model.requests) == 2
