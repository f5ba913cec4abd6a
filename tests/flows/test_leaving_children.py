"""Sessions of children that are to be deleted when their end is told, and have something left to do then."""

import pytest

from roost.core import a2a, stopping
from roost.core.exchanges import Cleanup, Completion, Exchange, ExchangeState, Phase
from roost.core.inbound import InboundState
from roost.core.principals import OWNER
from roost.core.runs import Run, RunKind, RunState, StopRequest
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.flows.agents import send, spawn
from tests.flows.driver import Driver, Said
from tests.flows.parenting import asked, end, taken, told_in

pytestmark = pytest.mark.requirement("D21", "P1")


async def written_to(
    driver: Driver, *, yields: bool = False, wait_ms: int = 0
) -> tuple[Completion, Run, Exchange]:
    """A child at work whose session is to be deleted, and a message from its requester that waits for it."""
    turn = await asked(driver)
    child = await spawn(driver, turn, "find it", Cleanup.DELETE)
    task = await taken(driver)
    message = await send(driver, turn, child.child, "how far are you?", wait_ms=wait_ms)
    if not wait_ms:
        await driver.finish(turn, Said(text="on it", yielded=yields))
    return child, task, message


async def heard(driver: Driver, message: Exchange) -> InboundState:
    record = await driver.store.inbound(message.id)
    assert record is not None
    return record.state


ENDS = [state for state in RunState if state.ended]


@pytest.mark.requirement("P6")
@pytest.mark.parametrize("state", ENDS)
@pytest.mark.parametrize("yields", [True, False])
async def test_a_message_that_waits_for_a_child_which_ends_is_answered_and_then_the_child_is_gone(
    driver: Driver, clock: FakeClock, state: RunState, yields: bool
) -> None:
    child, task, message = await written_to(driver, yields=yields)
    await end(driver, clock, task, state)
    ended = await driver.play(lambda run: Said(text=f"{run.request.kind} by {run.key.kind}"))
    assert RunKind.EXCHANGE in [run.request.kind for run in ended if run.key == child.child]
    assert [line for line in await driver.history(MAIN) if "exchange by subagent" in line]
    assert await heard(driver, message) is InboundState.TAKEN
    assert len(await told_in(driver, MAIN)) == 1
    assert await driver.store.session(child.child) is None
    assert await driver.store.completions(MAIN) == ()


@pytest.mark.requirement("P6", "D51")
@pytest.mark.parametrize("all_of_it", [True, False])
async def test_a_message_that_waits_for_a_child_which_ended_is_dead_when_it_is_stopped_and_the_child_is_gone(
    driver: Driver, clock: FakeClock, all_of_it: bool
) -> None:
    child, task, message = await written_to(driver)
    await driver.finish(task, Said(state=RunState.FAILED))
    assert await driver.store.session(child.child) is not None
    request = StopRequest(reason="enough", by=OWNER, at=clock.now())
    stopped = MAIN if all_of_it else child.child
    await driver.store.change_tree(stopped, lambda tree: stopping.stop(tree, request).effects)
    assert await heard(driver, message) is InboundState.DEAD
    assert await driver.store.session(child.child) is None


@pytest.mark.parametrize("stopped", [True, False])
async def test_a_child_that_ended_before_its_own_children_is_gone_with_the_last_of_them(
    driver: Driver, clock: FakeClock, stopped: bool
) -> None:
    turn = await asked(driver)
    child = await spawn(driver, turn, "find it", Cleanup.DELETE)
    await driver.finish(turn, Said(text="on it"))
    task = await taken(driver)
    await spawn(driver, task, "a part of it")
    part = await taken(driver)
    await driver.finish(task, Said(state=RunState.TIMEOUT))
    assert len(await told_in(driver, MAIN)) == 1
    if stopped:
        request = StopRequest(reason="enough", by=OWNER, at=clock.now())
        await driver.store.change_tree(child.child, lambda tree: stopping.stop(tree, request).effects)
        await driver.finish(part, Said(state=RunState.KILLED))
    else:
        await driver.finish(part, Said(text="too late"))
    await driver.play(lambda run: Said(text="nobody asks"))
    assert len(await told_in(driver, MAIN)) == 1
    assert await driver.store.session(child.child) is None


@pytest.mark.requirement("P6")
@pytest.mark.parametrize("answers", [True, False])
async def test_a_call_that_waits_for_what_a_child_says_has_it_though_the_child_is_gone_by_then(
    driver: Driver, clock: FakeClock, answers: bool
) -> None:
    child, task, message = await written_to(driver, wait_ms=30_000)
    await driver.finish(task, Said(state=RunState.FAILED))
    if answers:
        await driver.finish(await taken(driver), Said(text="nearly there"))
    else:
        request = StopRequest(reason="enough", by=OWNER, at=clock.now())
        await driver.store.change_tree(child.child, lambda tree: stopping.stop(tree, request).effects)
    assert await driver.store.session(child.child) is None
    known = await driver.store.change_exchange(message.id, a2a.leave)
    assert known is not None
    expected = (ExchangeState.REPLIED, "nearly there") if answers else (ExchangeState.FAILED, None)
    assert (known.state, known.first_reply, known.phase) == (*expected, Phase.DONE)
