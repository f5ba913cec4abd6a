"""Ends of children that something else comes in the way of: they are told all the same, and once."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from roost.core import stopping
from roost.core.effects import Effects
from roost.core.exchanges import Cleanup, Completion
from roost.core.lifecycle import ResetMode, ResetPolicy, ResetSetting
from roost.core.principals import OWNER
from roost.core.queries import SessionQuery
from roost.core.recovery import MAX_AGE_MS
from roost.core.resets import Reset, end_begun, open_generation
from roost.core.runs import RunKind, RunState, StopRequest
from roost.core.sessions import OpenedBy
from roost.core.trees import Tree
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.flows.agents import send, spawn, steer
from tests.flows.driver import Driver, Said, dm
from tests.flows.parenting import asked, owed, taken, told_in
from tests.samples import HOUR


@pytest.mark.requirement("P1", "P10", "D21")
async def test_a_child_that_is_interrupted_and_to_be_deleted_is_told_and_gone(
    driver: Driver, clock: FakeClock
) -> None:
    turn = await asked(driver)
    child = await spawn(driver, turn, "find it", Cleanup.DELETE)
    await driver.finish(turn, Said(text="on it"))
    await driver.take(await driver.started())
    clock.advance(MAX_AGE_MS + 1)
    (fate,) = await driver.recover()
    assert (fate.id, fate.state) == (child.child_run, RunState.INTERRUPTED)
    (line,) = await told_in(driver, MAIN)
    assert line.startswith("Status: interrupted")
    assert await driver.store.completions(MAIN) == ()
    assert await driver.store.session(child.child) is None


@pytest.mark.requirement("P1", "D27", "D64")
async def test_a_child_that_hears_of_its_own_child_and_then_of_its_task_reports_after_both(
    driver: Driver,
) -> None:
    turn = await asked(driver)
    await spawn(driver, turn, "find it")
    task = await driver.started()
    await driver.take(task)
    await spawn(driver, task, "a part of it")
    part = await driver.started()
    await driver.take(part)
    await driver.finish(part, Said(text="half of it"))
    await steer(driver, turn, task)
    await driver.finish(turn, Said(text="on it"))
    await driver.finish(task, Said(text="found it"))
    ended = await driver.play(lambda run: Said(text=f"said by {run.request.kind}"))
    assert [run.request.kind for run in ended] == [RunKind.CONTINUATION, RunKind.ANNOUNCE]
    (line,) = await told_in(driver, MAIN)
    assert line.startswith("Status: success")
    assert await driver.store.completions(MAIN) == ()


def reset(tree: Tree, request: StopRequest, child: Completion) -> Effects:
    fresh = Reset(reason=OpenedBy.RESET, session_id="fresh", at=request.at, rule="operator")
    return (*end_begun(tree.session, request), *open_generation(tree.session, fresh))


HOW: dict[str, Callable[[Tree, StopRequest, Completion], Effects]] = {
    "all": lambda tree, request, child: stopping.stop(tree, request).effects,
    "the task": lambda tree, request, child: stopping.stop_run(tree, child.child_run, request).effects,
    "reset": reset,
}


@pytest.mark.requirement("P1", "D27")
@pytest.mark.parametrize("how", HOW)
async def test_what_a_child_found_is_told_though_it_is_stopped_or_reset_before_it_tells(
    driver: Driver, clock: FakeClock, how: str
) -> None:
    turn = await asked(driver)
    child = await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(text="on it"))
    run = await driver.started()
    await driver.take(run)
    await driver.finish(run, Said(text="it is here"))
    request = StopRequest(reason="enough", by=OWNER, at=clock.now())
    await driver.store.change_tree(child.child, lambda tree: HOW[how](tree, request, child))
    (ended,) = await driver.play(lambda run: Said(text="never said"))
    assert (ended.request.kind, ended.outcome and ended.outcome.state) == (
        RunKind.ANNOUNCE,
        RunState.KILLED,
    )
    (line,) = await told_in(driver, MAIN)
    assert "Result: it is here" in line
    assert await driver.store.completions(MAIN) == ()


@pytest.mark.requirement("P9", "D63")
@pytest.mark.parametrize("yields", [True, False])
async def test_a_turn_that_waits_for_its_children_goes_on_in_the_conversation_it_began_in(
    driver: Driver, clock: FakeClock, yields: bool
) -> None:
    idle = ResetSetting(mode=ResetMode.IDLE, idle_minutes=60)
    driver.house = replace(driver.house, resets=ResetPolicy(base=idle))
    turn = await asked(driver)
    await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(text="on it", yielded=yields))
    child = await driver.started()
    await driver.take(child)
    clock.advance(2 * HOUR)
    await driver.hear(dm("how far are you?"))
    assert ((await driver.session(MAIN)).session_id == turn.session_id) is yields
    await driver.play(lambda run: Said(text="it takes a while"))
    await driver.finish(child, Said(text="found it"))
    await driver.play(lambda run: Said(text="here it is"))
    clock.advance(2 * HOUR)
    await driver.hear(dm("something else"))
    assert (await driver.session(MAIN)).session_id != turn.session_id


STOPS: dict[str, Callable[[Tree, StopRequest, Completion], Effects]] = {
    "the requester": lambda tree, request, child: stopping.stop(tree, request).effects,
    "what is below it": lambda tree, request, child: stopping.stop_below(tree, request).effects,
    "the child": lambda tree, request, child: stopping.kill(tree, [child.child], request).effects,
}


@pytest.mark.requirement("D21", "D51")
@pytest.mark.parametrize("how", STOPS)
@pytest.mark.parametrize("began", [True, False])
async def test_a_child_that_is_to_be_deleted_is_gone_also_if_it_is_stopped_where_it_waits(
    driver: Driver, clock: FakeClock, how: str, began: bool
) -> None:
    turn = await asked(driver)
    child = await spawn(driver, turn, "find it", Cleanup.DELETE)
    await driver.finish(turn, Said(text="on it"))
    if began:
        task = await driver.started()
        await driver.take(task)
        await spawn(driver, task, "a part of it", Cleanup.DELETE)
        await driver.finish(task, Said(yielded=True))
    request = StopRequest(reason="enough", by=OWNER, at=clock.now())
    await driver.store.change_tree(MAIN, lambda tree: STOPS[how](tree, request, child))
    await driver.play(lambda run: Said(text="never said"))
    (line,) = await told_in(driver, MAIN)
    assert line.startswith("Status: killed")
    page = await driver.store.list_sessions(SessionQuery(archived=None, limit=10))
    assert [row.key for row in page.rows] == [MAIN]


@pytest.mark.requirement("D51")
@pytest.mark.parametrize("answers", [True, False])
async def test_a_child_that_waits_for_its_own_and_is_killed_with_a_message_waiting_is_told_of(
    driver: Driver, clock: FakeClock, answers: bool
) -> None:
    turn = await asked(driver)
    child = await spawn(driver, turn, "find it")
    task = await taken(driver)
    await spawn(driver, task, "a part of it")
    await driver.finish(task, Said(yielded=True))
    part = await taken(driver)
    await send(driver, turn, child.child, "how far are you?")
    under_way = [part, *([await taken(driver)] if answers else [])]
    await driver.finish(turn, Said(yielded=True))
    request = StopRequest(reason="enough", by=OWNER, at=clock.now())
    await driver.store.change_tree(MAIN, lambda tree: stopping.kill(tree, [child.child], request).effects)
    for run in under_way:
        await driver.finish(run, Said(state=RunState.KILLED))
    ended = await driver.play(lambda run: Said(text="so be it"))
    assert await owed(driver) == []
    assert MAIN in [run.key for run in ended]
