"""Children and those who wait for them: every end is settled once, told once, and survives the gateway."""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from roost.core import stopping
from roost.core.addresses import Address
from roost.core.deliveries import DeliveryKind
from roost.core.exchanges import CompletionStatus, ExchangeState, Phase
from roost.core.inbound import InboundState
from roost.core.keys import SessionKey
from roost.core.notices import derived_id
from roost.core.principals import OWNER
from roost.core.queries import SessionQuery
from roost.core.runs import RunKind, RunState, StopRequest
from roost.core.trees import Tree
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.flows.agents import send, spawn
from tests.flows.driver import Driver, Said
from tests.flows.parenting import asked, batch, end, owed, told_in
from tests.flows.storm import AGENTS, Storm
from tests.scale import count, seeds
from tests.snapshots import snapshot

CHAT = Address(channel="telegram", to="1")
STATUSES = {
    RunState.DONE: CompletionStatus.OK,
    RunState.FAILED: CompletionStatus.ERROR,
    RunState.TIMEOUT: CompletionStatus.TIMEOUT,
    RunState.KILLED: CompletionStatus.KILLED,
    RunState.INTERRUPTED: CompletionStatus.INTERRUPTED,
}


@pytest.mark.requirement("P1", "D27")
@pytest.mark.parametrize("state", STATUSES)
@pytest.mark.parametrize("reads", [True, False])
async def test_every_end_of_a_child_reaches_its_requester_once(
    driver: Driver, clock: FakeClock, state: RunState, reads: bool
) -> None:
    turn = await asked(driver)
    child = await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(text="on it"))
    assert await owed(driver) == [(child.child_run, CompletionStatus.PENDING)]
    run = await driver.started()
    if reads or state is RunState.DONE:
        await driver.take(run)
    await end(driver, clock, run, state)
    ended = await driver.play(lambda run: Said(text="Result: it is here"))
    assert [run.request.kind for run in ended] == [RunKind.ANNOUNCE] * (state is RunState.DONE)
    (line,) = await told_in(driver, MAIN)
    status = {"done": "success", "failed": "error: it went wrong"}.get(state, str(STATUSES[state]))
    assert line.startswith(f"Status: {status}\n")
    assert ("it is here" in line) == (state is RunState.DONE)
    announced = await driver.deliveries(DeliveryKind.ANNOUNCE)
    expected = [] if state is RunState.KILLED else [(line, CHAT)]
    assert [(one.text, one.address) for one in announced] == expected
    assert await owed(driver) == []
    assert await driver.play(lambda run: Said(text="again?")) == []


@pytest.mark.requirement("D27")
async def test_a_child_that_asks_for_silence_is_not_announced_and_still_settled(driver: Driver) -> None:
    turn = await asked(driver)
    await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(text="on it"))
    await driver.play(
        lambda run: Said(text="ANNOUNCE_SKIP" if run.request.kind is RunKind.ANNOUNCE else "found")
    )
    assert await driver.deliveries(DeliveryKind.ANNOUNCE) == []
    assert await owed(driver) == []


@pytest.mark.requirement("P1")
async def test_a_settled_child_is_still_owed_after_the_gateway_died(driver: Driver) -> None:
    turn = await asked(driver)
    child = await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(text="on it"))
    run = await driver.started()
    await driver.take(run)
    await driver.finish(run, Said(text="found"))
    await driver.recover()
    (settled,) = await driver.store.completions(MAIN)
    assert (settled.child_run, settled.status, settled.result) == (
        child.child_run,
        CompletionStatus.OK,
        "found",
    )
    await driver.play(lambda run: Said(text="it is here"))
    assert len(await told_in(driver, MAIN)) == 1


@pytest.mark.requirement("P1", "D63")
async def test_a_turn_that_yields_goes_on_when_its_last_child_ends(driver: Driver, clock: FakeClock) -> None:
    turn, children = await batch(driver, len(STATUSES))
    await driver.finish(turn, Said(yielded=True))
    running = {run.id: run for run in [await driver.started() for _ in children]}
    for child in children:
        await driver.take(running[child.child_run])
    states = [RunState.KILLED, RunState.DONE, RunState.FAILED, RunState.TIMEOUT, RunState.INTERRUPTED]
    for child, state in zip(children, states, strict=True):
        assert await driver.start() is None
        await end(driver, clock, running[child.child_run], state, f"found by {child.child_run}")
    (ended,) = await driver.play(lambda run: Said(text="all done"))
    assert (ended.request.kind, ended.request.reply_to) == (RunKind.CONTINUATION, CHAT)
    (findings,) = await told_in(driver, MAIN)
    shown = [findings.index(str(child.child)) for child in children]
    assert shown == sorted(shown)
    for line in (
        "Status: killed",
        "Status: success",
        "Status: error",
        "Status: timeout",
        "Status: interrupted",
    ):
        assert findings.count(line) == 1
    assert await driver.deliveries(DeliveryKind.ANNOUNCE) == []
    assert [one.text for one in await driver.deliveries(DeliveryKind.REPLY)] == ["all done"]
    assert await owed(driver) == []


@pytest.mark.requirement("P1", "D63")
async def test_a_turn_that_yields_too_late_goes_on_at_once(driver: Driver) -> None:
    turn, (child,) = await batch(driver, 1)
    run = await driver.started()
    await driver.take(run)
    await driver.finish(run, Said(text="found"))
    await driver.finish(turn, Said(yielded=True))
    await driver.play(lambda run: Said(text="ANNOUNCE_SKIP" if run.key == child.child else "thanks"))
    assert len(await told_in(driver, MAIN)) == 1
    assert (await driver.history(MAIN))[-1] == "thanks"


@pytest.mark.requirement("P1")
async def test_a_sub_agent_hears_of_its_own_child_inside_its_session(driver: Driver) -> None:
    turn, (child,) = await batch(driver, 1)
    await driver.finish(turn, Said(text="on it"))
    outer = await driver.started()
    await driver.take(outer)
    await spawn(driver, outer, "the hard part")
    await driver.finish(outer, Said(yielded=True))
    assert await owed(driver) == [(child.child_run, CompletionStatus.PENDING)]
    ended = await driver.play(lambda run: Said(text=f"answer of {run.request.kind}"))
    kinds = [run.request.kind for run in ended]
    assert kinds == [RunKind.TURN, RunKind.CONTINUATION, RunKind.ANNOUNCE]
    (line,) = await told_in(driver, MAIN)
    assert "answer of announce" in line
    assert await owed(driver) == []


async def test_a_killed_child_stays_dead_whatever_was_waiting_for_it(driver: Driver) -> None:
    turn, (child,) = await batch(driver, 1)
    await driver.finish(turn, Said(text="on it"))
    outer = await driver.started()
    await driver.take(outer)
    await spawn(driver, outer, "the hard part")
    inner = await driver.started()
    await driver.take(inner)
    await driver.finish(inner, Said(text="found"))
    await driver.finish(outer, Said(state=RunState.KILLED))
    ended = await driver.play(lambda run: Said(text="up again"))
    assert child.child not in {run.key for run in ended}
    record = await driver.store.inbound(derived_id("task", str(child.child)))
    assert record is not None
    assert record.state is InboundState.TAKEN


@pytest.mark.requirement("P1", "D63")
async def test_a_child_that_yields_with_nothing_to_wait_for_has_ended(driver: Driver) -> None:
    turn, _ = await batch(driver, 1)
    await driver.finish(turn, Said(text="on it"))
    await driver.play(lambda run: Said(text="I wait", yielded=True))
    assert len(await told_in(driver, MAIN)) == 1
    assert await owed(driver) == []


@pytest.mark.requirement("P1", "D63")
async def test_a_child_that_yields_unread_words_of_its_own_child_goes_on_with_them(driver: Driver) -> None:
    turn, (child,) = await batch(driver, 1)
    await driver.finish(turn, Said(text="on it"))
    outer = await driver.started()
    await driver.take(outer)
    await spawn(driver, outer, "the hard part")
    inner = await driver.started()
    await driver.take(inner)
    await driver.finish(inner, Said(text="found"))
    await driver.finish(outer, Said(yielded=True))
    assert await owed(driver) == [(child.child_run, CompletionStatus.PENDING)]
    ended = await driver.play(lambda run: Said(text="all of it"))
    assert [run.request.kind for run in ended] == [RunKind.CONTINUATION, RunKind.ANNOUNCE]
    (line,) = await told_in(driver, MAIN)
    assert "Result: all of it" in line


@pytest.mark.requirement("P1")
async def test_the_end_of_a_child_that_yielded_itself_climbs_every_level(driver: Driver) -> None:
    turn, _ = await batch(driver, 1)
    await driver.finish(turn, Said(yielded=True))
    for _ in range(3):
        run = await driver.started()
        await driver.take(run)
        await spawn(driver, run, "one level down")
        await driver.finish(run, Said(yielded=True))
    ended = await driver.play(lambda run: Said(text=f"heard in {run.key}"))
    assert [run.request.kind for run in ended] == [RunKind.TURN, *[RunKind.CONTINUATION] * 4]
    assert (await driver.history(MAIN))[-1] == f"heard in {MAIN}"


@pytest.mark.requirement("P1", "P3", "P10", "P13")
@pytest.mark.parametrize("seed", seeds(6, 300))
async def test_whatever_agents_do_nothing_is_left_waiting(
    driver: Driver, clock: FakeClock, seed: int
) -> None:
    storm = Storm(driver, clock, seed)
    for _ in range(250):
        await storm.happen(AGENTS)
    await storm.calm()
    page = await driver.store.list_sessions(SessionQuery(archived=None, limit=1000))
    for session in page.rows:
        left = await snapshot(driver.store, session.key)
        assert (left.running, left.queued, left.pending, left.children) == (None, (), (), ())
    for exchange in storm.exchanges:
        found = await driver.store.exchange(exchange)
        assert found is not None
        assert found.phase is Phase.DONE


@pytest.mark.requirement("P1", "P10")
@pytest.mark.parametrize("seed", seeds(2, 20))
async def test_however_children_end_and_gateways_die_each_is_told_once(
    driver: Driver, clock: FakeClock, seed: int
) -> None:
    chance = Random(seed)
    expected: dict[str, CompletionStatus | None] = {}
    turn = await asked(driver)
    for _ in range(count(40, 1000)):
        expected[(await spawn(driver, turn, "find it")).child_run] = None
    await driver.finish(turn, Said(text="on it"))
    while run := await driver.start():
        if chance.random() < 0.1:
            await driver.recover()
            continue
        await driver.take(run)
        if chance.random() < 0.1:
            await driver.recover()
            continue
        state = chance.choice(list(ENDS)) if run.id in expected else RunState.DONE
        await driver.finish(run, Said(text="found", state=state))
        if run.id in expected:
            expected[run.id] = STATUSES[state]
    told = Counter(line.split("\n")[0].split()[1] for line in await told_in(driver, MAIN))
    interrupted = sum(status is None for status in expected.values())
    words = {CompletionStatus.OK: "success", CompletionStatus.ERROR: "error:"}
    wanted = Counter(words.get(status, str(status)) for status in expected.values() if status)
    wanted["interrupted"] += interrupted
    assert told == +wanted
    assert told.total() == len(expected)
    assert await owed(driver) == []


ENDS = (RunState.DONE, RunState.DONE, RunState.FAILED, RunState.TIMEOUT, RunState.KILLED)


@pytest.mark.requirement("D51")
async def test_an_answer_that_waits_for_children_is_not_waited_for_after_a_stop(
    driver: Driver, clock: FakeClock
) -> None:
    ops = SessionKey.named("ops", "main")
    sent = await send(driver, await asked(driver), ops, "look into it")
    answering = await driver.started()
    await driver.take(answering)
    await spawn(driver, answering, "a part of it")
    await driver.finish(answering, Said(yielded=True))
    request = StopRequest(reason="enough", by=OWNER, at=clock.now())
    await driver.store.change_tree(ops, lambda tree: stopping.stop(tree, request).effects)
    found = await driver.store.exchange(sent.id)
    assert found is not None
    assert (found.state, found.phase, found.error) == (ExchangeState.FAILED, Phase.DONE, "enough")


HOW: dict[str, Callable[[Tree, StopRequest, str], stopping.Stopped]] = {
    "all": lambda tree, request, task: stopping.stop(tree, request),
    "what is below": lambda tree, request, task: stopping.stop_below(tree, request),
    "the task": lambda tree, request, task: stopping.stop_run(tree, task, request),
}


@pytest.mark.requirement("P1", "D63")
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("yields", [True, False])
async def test_a_child_that_is_stopped_where_it_waits_for_its_own_keeps_nobody_waiting(
    driver: Driver, clock: FakeClock, how: str, yields: bool
) -> None:
    turn, _ = await batch(driver, 1)
    await driver.finish(turn, Said(yielded=True))
    task = await driver.started()
    await driver.take(task)
    await spawn(driver, task, "a part of it")
    part = await driver.started()
    await driver.finish(task, Said(text="on it", yielded=yields))
    request = StopRequest(reason="enough", by=OWNER, at=clock.now())
    await driver.store.change_tree(task.key, lambda tree: HOW[how](tree, request, task.id).effects)
    await driver.finish(part, Said(text="found"))
    ended = await driver.play(lambda run: Said(text="it was stopped"))
    assert [(run.key, run.request.kind) for run in ended] == [(MAIN, RunKind.CONTINUATION)]
    assert await owed(driver) == []


@pytest.mark.requirement("P1")
async def test_a_child_that_is_stopped_before_it_began_keeps_nobody_waiting(
    driver: Driver, clock: FakeClock
) -> None:
    turn, (child,) = await batch(driver, 1)
    await driver.finish(turn, Said(yielded=True))
    request = StopRequest(reason="enough", by=OWNER, at=clock.now())
    await driver.store.change_tree(child.child, lambda tree: stopping.stop(tree, request).effects)
    ended = await driver.play(lambda run: Said(text="it was stopped"))
    assert [(run.key, run.request.kind) for run in ended] == [(MAIN, RunKind.CONTINUATION)]
    assert await owed(driver) == []
