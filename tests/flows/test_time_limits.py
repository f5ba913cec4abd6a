"""The time limit of a task: it holds from its first run until it truly ends, also while it waits for others."""

from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import pytest

from roost.core.deliveries import DeliveryKind
from roost.core.exchanges import Cleanup, CompletionStatus, Exchange, ExchangeState, Phase
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import ToolResult, UserMessage, text_of
from roost.core.models import ModelRequest
from roost.core.runs import Run, RunState
from roost.core.sessions import SessionStatus
from roost.testing.clock import FakeClock
from roost.testing.crashing import Crashed, Crashes, CrashingStore, CrashPoint, Moment
from roost.testing.scripts import Hang, Say, Script, Until
from tests.flows.agents import send, spawn
from tests.flows.driver import OUT_OF_TIME, Driver, Said
from tests.flows.nursery import (
    MAIN,
    Nursery,
    call,
    let_time_pass,
    newest,
    nurseries,
    said_to,
    spawns,
    task_of,
)
from tests.flows.parenting import asked, owed, taken, told_in
from tests.grounds import KINDS, GroundOf
from tests.samples import HOUR

GATEWAY = Gateway(name="flow", holder="flow")
OPS = SessionKey.named("ops", "main")
LIMIT_S = 5

pytestmark = [pytest.mark.requirement("D21"), pytest.mark.timeout(60)]


@pytest.fixture(params=KINDS)
async def nursery(
    request: pytest.FixtureRequest, ground_of: GroundOf, clock: FakeClock
) -> AsyncIterator[Nursery]:
    ground = await ground_of(request.param).fresh("nursery")
    async with nurseries(ground, lambda request: [Say("nothing")], clock) as nursery:
        yield nursery


async def told(nursery: Nursery) -> list[str]:
    """What the requester's transcript was told of its children."""
    entries = await nursery.bench.store.entries((await nursery.session(MAIN)).session_id)
    said = (text_of(entry.body) for entry in entries if isinstance(entry.body, UserMessage))
    return [text for text in said if "Status: " in text]


@pytest.mark.requirement("P1", "P13")
@pytest.mark.parametrize("yields", [True, False])
@pytest.mark.parametrize("restarts", [True, False])
async def test_a_child_that_waits_for_its_own_child_is_timed_out_and_told_once(
    nursery: Nursery, clock: FakeClock, *, yields: bool, restarts: bool
) -> None:
    goes_on = anyio.Event()

    def act(request: ModelRequest) -> Script:
        done = isinstance(newest(request), ToolResult)
        match task_of(request):
            case "endless":
                return [Until(goes_on), Say("a part, too late")]
            case "whole" if done:
                return [call("sessions_yield")] if yields else [Say("My part is done.")]
            case "whole":
                return spawns("endless")
            case _:
                return [Say("Begun.")] if done else spawns("whole", runTimeoutSeconds=LIMIT_S)

    nursery.act = act
    if restarts:
        async with nursery.engine().serving(GATEWAY):
            await nursery.bench.say("go")
            await nursery.bench.model.asked(5)
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        if not restarts:
            await nursery.bench.say("go")
        await nursery.until_answered()
        await let_time_pass(nursery.bench.store, clock, LIMIT_S)
        replies = await nursery.bench.replies(at_least=2)
        assert replies[1].splitlines()[:2] == [
            "Status: timeout",
            f"Result: {2 if yields else 1} tool call(s) made without visible output",
        ]
        whole, part = await nursery.descendants()
        (pending,) = await nursery.bench.store.completions(whole.key)
        assert (pending.child, pending.status) == (part.key, CompletionStatus.PENDING)
        goes_on.set()
        await engine.settled()
    assert len(await told(nursery)) == 1
    assert await nursery.bench.store.completions(MAIN) == ()
    assert await nursery.bench.store.completions(whole.key) == ()
    late = [request for request in nursery.bench.model.requests if "a part, too late" in said_to(request)]
    assert [task_of(request) for request in late] == []


@pytest.mark.requirement("P1", "P10")
@pytest.mark.parametrize("moment", Moment)
async def test_a_gateway_that_dies_as_it_gives_up_a_child_tells_of_it_once(
    nursery: Nursery, clock: FakeClock, moment: Moment
) -> None:
    goes_on = anyio.Event()

    def act(request: ModelRequest) -> Script:
        done = isinstance(newest(request), ToolResult)
        match task_of(request):
            case "endless":
                return [Until(goes_on), Say("a part, too late")]
            case "whole":
                return [call("sessions_yield")] if done else spawns("endless")
            case _:
                return [Say("Begun.")] if done else spawns("whole", runTimeoutSeconds=LIMIT_S)

    nursery.act = act
    store, crashes = nursery.bench.store, Crashes(CrashPoint(at=1, moment=moment, call="store.give_up"))
    nursery.bench.store = CrashingStore(store, crashes)
    try:
        async with nursery.engine().serving(GATEWAY):
            await nursery.bench.say("go")
            await nursery.until_answered()
            await let_time_pass(nursery.bench.store, clock, LIMIT_S)
            await anyio.sleep_forever()
    except* Crashed:
        pass
    nursery.bench.store = store
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        replies = await nursery.bench.replies(at_least=2)
        goes_on.set()
        await engine.settled()
    assert crashes.struck
    assert [reply.splitlines()[0] for reply in replies[1:]] == ["Status: timeout"]
    assert len(await told(nursery)) == 1
    assert await store.completions(MAIN) == ()


@pytest.mark.requirement("D63")
async def test_a_child_that_goes_on_after_its_own_child_has_only_the_rest_of_its_time(
    nursery: Nursery, clock: FakeClock
) -> None:
    hangs = anyio.Event()

    def act(request: ModelRequest) -> Script:
        done = isinstance(newest(request), ToolResult)
        match task_of(request):
            case "part":
                return [Say("a part")]
            case "whole" if "a part" in said_to(request):
                hangs.set()
                return [Hang()]
            case "whole":
                return [call("sessions_yield")] if done else spawns("part")
            case _:
                return [Say("Begun.")] if done else spawns("whole", runTimeoutSeconds=LIMIT_S)

    nursery.act = act
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        await nursery.bench.say("go")
        await hangs.wait()
        await nursery.until_answered()
        clock.advance(LIMIT_S * 1_000)
        replies = await nursery.bench.replies(at_least=2)
        await engine.settled()
    assert replies[1].splitlines()[0] == "Status: timeout"
    assert len(await told(nursery)) == 1
    whole, _ = await nursery.descendants()
    assert whole.status is SessionStatus.TIMEOUT


async def test_a_child_that_says_nothing_until_its_time_is_over_is_announced_by_its_tool_calls(
    nursery: Nursery, clock: FakeClock
) -> None:
    hangs = anyio.Event()

    def act(request: ModelRequest) -> Script:
        done = isinstance(newest(request), ToolResult)
        if task_of(request):
            if not done:
                return [call("subagents", "a"), call("subagents", "b")]
            hangs.set()
            return [Hang()]
        return [Say("Begun.")] if done else spawns("forever", runTimeoutSeconds=LIMIT_S)

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await hangs.wait()
        await nursery.until_answered()
        clock.advance(LIMIT_S * 1_000)
        replies = await nursery.bench.replies(at_least=2)
    assert replies[1].splitlines()[:2] == [
        "Status: timeout",
        "Result: 2 tool call(s) made without visible output",
    ]


async def asked_to_wait(driver: Driver) -> tuple[Exchange, Run]:
    """A message whose target spawned a child and yielded, and that child's run."""
    turn = await asked(driver)
    limited = replace(turn, request=replace(turn.request, deadline=driver.clock.now() + HOUR))
    exchange = await send(driver, limited, OPS, "how many?")
    await driver.finish(turn, Said(text="on it"))
    answering = await taken(driver)
    await spawn(driver, answering, "count")
    await driver.finish(answering, Said(yielded=True))
    return exchange, await taken(driver)


@pytest.mark.requirement("P6")
@pytest.mark.parametrize("restarts", [True, False])
async def test_a_message_whose_target_waits_too_long_for_a_child_fails_in_time_and_its_sender_is_told_once(
    driver: Driver, clock: FakeClock, restarts: bool
) -> None:
    exchange, counting = await asked_to_wait(driver)
    assert exchange.deadline is not None
    clock.advance(exchange.deadline - clock.now() - 1)
    assert await driver.give_up() == []
    clock.advance(1)
    if restarts:
        await driver.home.restart()
    (ended,) = await driver.give_up()
    assert (ended.key, ended.state) == (OPS, RunState.TIMEOUT)
    known = await driver.store.exchange(exchange.id)
    assert known is not None
    assert (known.state, known.phase) == (ExchangeState.FAILED, Phase.DONE)
    (told_main,) = await driver.play(lambda run: Said(text="too bad"))
    assert told_main.key == exchange.requester
    if not restarts:
        await driver.finish(counting, Said(text="three"))
        await driver.play(lambda run: Said(text="three"))
        assert len(await told_in(driver, OPS)) == 1
    assert await driver.give_up() == []
    assert await driver.store.exchange(exchange.id) == known


@pytest.mark.requirement("P6", "D63")
async def test_a_message_whose_target_goes_on_in_time_is_answered_and_never_given_up(
    driver: Driver, clock: FakeClock
) -> None:
    exchange, counting = await asked_to_wait(driver)
    await driver.finish(counting, Said(text="three"))
    going_on = await taken(driver)
    assert (going_on.key, going_on.request.deadline) == (OPS, exchange.deadline)
    clock.advance(2 * HOUR)
    assert await driver.give_up() == []
    await driver.finish(going_on, Said(text="three"))
    await driver.play(lambda run: Said(text="REPLY_SKIP"))
    known = await driver.store.exchange(exchange.id)
    assert known is not None
    assert (known.state, known.first_reply) == (ExchangeState.REPLIED, "three")


@pytest.mark.requirement("P1")
async def test_a_child_that_was_given_up_and_is_to_be_deleted_is_told_and_gone_with_its_last_child(
    driver: Driver, clock: FakeClock
) -> None:
    turn = await asked(driver)
    child = await spawn(driver, turn, "find it", Cleanup.DELETE, limit_ms=HOUR)
    await driver.finish(turn, Said(text="on it"))
    task = await taken(driver)
    await spawn(driver, task, "a part of it")
    await driver.finish(task, Said(yielded=True))
    part = await taken(driver)
    clock.advance(HOUR)
    (ended,) = await driver.give_up()
    assert (ended.id, ended.state) == (child.child_run, RunState.TIMEOUT)
    (line,) = await told_in(driver, MAIN)
    assert line.startswith("Status: timeout")
    assert len(await driver.deliveries(DeliveryKind.ANNOUNCE)) == 1
    await driver.finish(part, Said(text="too late"))
    await driver.play(lambda run: OUT_OF_TIME)
    assert len(await told_in(driver, MAIN)) == 1
    assert await driver.store.completions(MAIN) == ()
    assert await driver.store.session(child.child) is None


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("cleanup", Cleanup)
async def test_what_one_of_two_had_found_when_the_turn_that_waited_for_both_was_given_up_is_told(
    driver: Driver, clock: FakeClock, cleanup: Cleanup
) -> None:
    turn = await asked(driver)
    whole = await spawn(driver, turn, "the whole", limit_ms=HOUR)
    await driver.finish(turn, Said(text="on it"))
    task = await taken(driver)
    parts = [await spawn(driver, task, name, cleanup) for name in ("one", "two")]
    await driver.finish(task, Said(yielded=True))
    first, second = await taken(driver), await taken(driver)
    await driver.finish(first, Said(text="FOUND BY ONE"))
    clock.advance(HOUR)
    assert len(await driver.give_up()) == 1
    await driver.finish(second, Said(text="FOUND BY TWO"))
    await driver.play(lambda run: Said(text="noted"))
    assert await owed(driver, whole.child) == []
    history = await driver.history(whole.child)
    assert [sum(words in line for line in history) for words in ("FOUND BY ONE", "FOUND BY TWO")] == [1, 1]
    left = [await driver.store.session(one.child) for one in parts]
    assert [row is None for row in left] == [cleanup is Cleanup.DELETE] * 2
