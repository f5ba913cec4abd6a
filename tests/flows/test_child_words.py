"""What is said to a child and by it while others talk, wait or end: none of it is lost, and none goes to somebody else."""

import json

import pytest

from roost.core import steering, toolnames, upkeep
from roost.core.announce import SOURCE_TOOL
from roost.core.deliveries import DeliveryKind
from roost.core.endings import completes
from roost.core.errors import Forbidden
from roost.core.exchanges import CompletionStatus
from roost.core.messages import Text, UserMessage, text_of
from roost.core.reach import SessionReach
from roost.core.runs import Run, RunState
from roost.core.tools import Invocation, Place
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from roost.tools.access import Access
from roost.tools.sessions_yield import SessionsYield
from tests.flows.agents import spawn, steer
from tests.flows.driver import Driver, Said, dm
from tests.flows.parenting import asked, batch, end, owed, taken, told_in
from tests.unit.tools.calls import nowhere


@pytest.mark.requirement("P1", "D63")
async def test_what_children_found_is_kept_when_their_conversation_is_condensed_before_it_was_read(
    driver: Driver, clock: FakeClock
) -> None:
    turn, _ = await batch(driver, 1)
    await driver.finish(turn, Said(yielded=True))
    await end(driver, clock, await taken(driver), RunState.DONE, "found it")
    going_on = await driver.started()
    compaction = Run(
        id="condense",
        key=MAIN,
        state=RunState.QUEUED,
        cause=turn.cause,
        request=upkeep.compaction_request(),
        queued_at=clock.now(),
        ready_at=clock.now(),
    )
    await driver.store.change_session(MAIN, lambda snapshot: upkeep.condense(snapshot, compaction).effects)
    await driver.finish(going_on, Said(state=RunState.KILLED))
    await driver.play(lambda run: Said(text="condensed"))
    (told,) = await told_in(driver, MAIN)
    assert "found it" in told
    assert await owed(driver) == []


@pytest.mark.requirement("P1", "D27", "D64")
@pytest.mark.parametrize("yields", [True, False])
@pytest.mark.parametrize("parts", [1, 2])
async def test_a_child_that_hears_more_while_parts_of_its_task_are_at_work_reports_after_all_of_them(
    driver: Driver, yields: bool, parts: int
) -> None:
    turn, (child,) = await batch(driver, 1)
    task = await driver.started()
    await driver.take(task)
    await spawn(driver, task, "a part of it")
    part = await driver.started()
    await driver.finish(task, Said(text="on it", yielded=yields))
    await steer(driver, turn, task)
    again = await driver.started()
    assert again.key == task.key
    await driver.take(again)
    for _ in range(parts - 1):
        await spawn(driver, again, "another part")
    await driver.finish(again, Said(text="noted", yielded=yields))
    await driver.finish(turn, Said(text="begun"))
    assert await owed(driver) == [(child.child_run, CompletionStatus.PENDING)]
    others = [await driver.started() for _ in range(parts - 1)]
    for run in (*others, part):
        await driver.take(run)
        await driver.finish(run, Said(text="found"))
    left = parts
    for _ in range(parts):
        assert await owed(driver) == [(child.child_run, CompletionStatus.PENDING)]
        going_on = await driver.started()
        await driver.take(going_on)
        left -= 1
        await driver.finish(going_on, Said(text=f"{left} left"))
    await driver.play(lambda run: Said(text="told"))
    assert await owed(driver) == []
    (line,) = await told_in(driver, MAIN)
    assert "told" in line


@pytest.mark.requirement("D63")
async def test_a_child_that_yields_when_it_has_heard_more_is_told_of_all_who_have_parts_of_its_task(
    driver: Driver, clock: FakeClock
) -> None:
    turn, _ = await batch(driver, 1)
    task = await taken(driver)
    first = await spawn(driver, task, "a part of it")
    part = await taken(driver)
    await driver.finish(task, Said(yielded=True))
    await steer(driver, turn, task)
    again = await taken(driver)
    assert await pending_of(driver, again) == [str(first.child)]
    second = await spawn(driver, again, "another part")
    assert await pending_of(driver, again) == [str(first.child), str(second.child)]
    await driver.finish(again, Said(yielded=True))
    await taken(driver)
    await driver.finish(part, Said(text="found"))
    going_on = await taken(driver)
    assert (going_on.key, completes(going_on)) == (task.key, task.id)
    assert await pending_of(driver, going_on) == [str(second.child)]
    # Nobody gave the requester a task: of earlier turns it hears, and waits for none of them.
    await driver.finish(turn, Said(text="begun"))
    assert await pending_of(driver, await asked(driver, "how far are you?")) == []


async def pending_of(driver: Driver, run: Run) -> list[str]:
    """Whom a run is told that it waits for when it yields."""
    tool = SessionsYield(Access(driver.store, driver.clock, SessionReach(agent=run.key.agent)))
    invocation = Invocation(
        run_id=run.id,
        call_id="c1",
        agent=run.key.agent,
        key=run.key,
        cause=run.cause,
        place=Place(workspace="/w"),
        arguments={},
    )
    outcome = await tool.run(invocation, nowhere)
    told = json.loads("".join(block.text for block in outcome.content if isinstance(block, Text)))
    assert ("warning" in told) is not bool(told["pendingChildren"])
    return list(told["pendingChildren"])


@pytest.mark.requirement("P7", "P16")
async def test_what_a_requester_adds_goes_to_the_task_and_not_to_whoever_talks_with_the_child(
    driver: Driver, clock: FakeClock
) -> None:
    turn, (child,) = await batch(driver, 1)
    task = await taken(driver)
    await spawn(driver, task, "the hard part")
    await taken(driver)
    await driver.finish(task, Said(yielded=True))
    await driver.hear(dm("how far are you?"), child.child)
    talk = await taken(driver)
    clock.advance(steering.EVERY_MS)
    await steer(driver, turn, task, "look in the cellar")
    await driver.finish(talk, Said(text="nearly done"))
    going_on = await taken(driver)
    assert completes(going_on) == task.id
    await driver.finish(going_on, Said(text="nothing there"))
    assert [one.text for one in await driver.deliveries(DeliveryKind.REPLY)] == ["nearly done"]


@pytest.mark.requirement("D60", "P16", "F7")
@pytest.mark.parametrize("steered_first", [True, False])
async def test_what_a_requester_adds_and_what_others_report_meanwhile_keep_each_their_own_origin(
    driver: Driver, *, steered_first: bool
) -> None:
    turn, _ = await batch(driver, 1)
    task = await taken(driver)
    await spawn(driver, task, "a part of it")
    part = await taken(driver)
    if steered_first:
        await steer(driver, turn, task, "look in the cellar")
    await driver.finish(part, Said(text="give all of it away"))
    if not steered_first:
        await steer(driver, turn, task, "look in the cellar")
    await driver.finish(task, Said(text="found it"))
    again = await driver.started()
    taken_up = [entry.body for entry in await driver.take(again)]
    assert all(isinstance(body, UserMessage) for body in taken_up)
    origins = {
        text_of(body).splitlines()[-1]: (body.provenance.source_tool, body.provenance.source_session)
        for body in taken_up
        if isinstance(body, UserMessage)
    }
    assert origins == {
        "look in the cellar": (toolnames.SUBAGENTS, str(MAIN)),
        "Result: give all of it away": (SOURCE_TOOL, str(part.key)),
    }


@pytest.mark.requirement("D64")
async def test_a_child_is_steered_only_so_often_also_when_it_reads_at_once(
    driver: Driver, clock: FakeClock
) -> None:
    turn, (_,) = await batch(driver, 1)
    task = await taken(driver)
    await steer(driver, turn, task, "look in the cellar")
    await driver.take(task)
    clock.advance(steering.EVERY_MS - 1)
    with pytest.raises(Forbidden, match="just now"):
        await steer(driver, turn, task, "and in the attic")
    clock.advance(1)
    await steer(driver, turn, task, "and in the shed")
    await driver.take(task)
    said = await driver.history(task.key)
    assert said[-2:] == ["look in the cellar", "and in the shed"]
