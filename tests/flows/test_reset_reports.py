"""What children report to a session that is started afresh before a turn has read it: told there all the same, once."""

from collections.abc import Awaitable, Callable

import pytest

from roost.core import stopping
from roost.core.deliveries import DeliveryKind
from roost.core.effects import Effects
from roost.core.keys import SessionKey
from roost.core.principals import OWNER
from roost.core.resets import RESET_REASON, Reset, end_begun, open_generation
from roost.core.runs import Run, RunKind, StopRequest
from roost.core.sessions import OpenedBy
from roost.core.trees import Tree
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.flows.agents import spawn
from tests.flows.driver import Driver, Said, dm
from tests.flows.parenting import asked, taken, told_in

pytestmark = pytest.mark.requirement("P1", "P3")


async def by_operator(driver: Driver, key: SessionKey) -> None:
    """As `sessions.reset` and the commands do it."""
    request = StopRequest(reason=RESET_REASON, by=OWNER, at=driver.clock.now())
    fresh = Reset(
        reason=OpenedBy.RESET, session_id=driver.names("generation"), at=request.at, rule="operator"
    )

    def decide(tree: Tree) -> Effects:
        below = stopping.stop_below(tree, request).effects
        return (*below, *end_begun(tree.session, request), *open_generation(tree.session, fresh))

    await driver.store.change_tree(key, decide)


async def reported_to_main(driver: Driver) -> Run:
    """A turn that waited for a child begins to go on with what that found."""
    turn = await asked(driver)
    await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(yielded=True))
    await driver.finish(await taken(driver), Said(text="it is here"))
    return await driver.started()


async def reported_to_child(driver: Driver) -> Run:
    """A sub-agent at work whose own child has just found something."""
    turn = await asked(driver)
    await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(text="on it"))
    task = await taken(driver)
    await spawn(driver, task, "a part of it")
    await driver.finish(await taken(driver), Said(text="it is here"))
    return task


@pytest.mark.parametrize("reported", [reported_to_main, reported_to_child])
@pytest.mark.parametrize("dies", [True, False])
async def test_a_report_that_a_reset_overtakes_stands_in_the_new_conversation(
    driver: Driver, reported: Callable[[Driver], Awaitable[Run]], dies: bool
) -> None:
    run = await reported(driver)
    await by_operator(driver, run.key)
    assert (await driver.session(run.key)).session_id != run.session_id
    if dies:
        await driver.recover()
    else:
        await driver.stop(run.id)
    found = [line for line in await told_in(driver, run.key) if "it is here" in line]
    assert len(found) == 1
    await driver.play(lambda run: Said(text="I see"))
    lines = [line for line in await driver.history(run.key) if "Result: it is here" in line]
    assert len(lines) == 1


async def test_a_report_that_waits_for_its_turn_is_read_in_the_new_conversation(driver: Driver) -> None:
    turn = await asked(driver)
    await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(yielded=True))
    await driver.finish(await taken(driver), Said(text="it is here"))
    await by_operator(driver, MAIN)
    (ended,) = await driver.play(lambda run: Said(text="I see"))
    assert ended.session_id == (await driver.session(MAIN)).session_id != turn.session_id
    assert len(await told_in(driver, MAIN)) == 1


async def test_a_report_that_somebody_stopped_is_not_found_in_the_conversation(
    driver: Driver, clock: FakeClock
) -> None:
    run = await reported_to_main(driver)
    request = StopRequest(reason="enough", by=OWNER, at=clock.now())
    await driver.store.change_tree(MAIN, lambda tree: stopping.stop(tree, request).effects)
    await driver.stop(run.id)
    assert await told_in(driver, MAIN) == []


@pytest.mark.parametrize("whole", [True, False])
async def test_a_report_that_a_word_of_a_person_overtakes_with_a_reset_is_in_the_new_conversation(
    driver: Driver, whole: bool
) -> None:
    run = await reported_to_main(driver)
    await driver.hear(dm("/new" if whole else "/new and tell me of the weather"))
    await driver.play(lambda run: Said(text="hello"))
    assert (await driver.session(MAIN)).session_id != run.session_id
    assert len(await told_in(driver, MAIN)) == 1


@pytest.mark.requirement("D27")
@pytest.mark.parametrize("began", [True, False])
async def test_a_child_that_has_ended_tells_of_it_though_its_requester_is_started_afresh_before(
    driver: Driver, began: bool
) -> None:
    turn = await asked(driver)
    child = await spawn(driver, turn, "find it")
    await spawn(driver, turn, "something else")
    await driver.finish(turn, Said(text="on it"))
    first = await taken(driver)
    other = await taken(driver)
    await driver.finish(first, Said(text="it is here"))
    announcing = await driver.started() if began else None
    await by_operator(driver, MAIN)
    await driver.stop(other.id)
    if announcing is not None:
        await driver.finish(announcing, Said(text="Result: it is here"))
    await driver.play(lambda run: Said(text="Result: it is here"))
    (line,) = await told_in(driver, MAIN)
    assert line.splitlines()[:2] == ["Status: success", "Result: it is here"]
    announced = await driver.deliveries(DeliveryKind.ANNOUNCE)
    assert [(one.text, one.address) for one in announced] == [(line, turn.request.reply_to)]
    assert await driver.store.completions(MAIN) == ()
    assert await driver.store.active_runs(child.child) == ()


async def half_of_main(driver: Driver) -> tuple[Run, Run]:
    """A turn that waits for two children, and the one of them that is still at work."""
    turn = await asked(driver)
    return turn, await half_of(driver, turn)


async def half_of_child(driver: Driver) -> tuple[Run, Run]:
    """A sub-agent that does."""
    turn = await asked(driver)
    await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(text="on it"))
    task = await taken(driver)
    return task, await half_of(driver, task)


async def half_of(driver: Driver, run: Run) -> Run:
    await spawn(driver, run, "a part of it")
    await spawn(driver, run, "something else")
    await driver.finish(run, Said(yielded=True))
    first, other = await taken(driver), await taken(driver)
    await driver.finish(first, Said(text="it is here"))
    return other


@pytest.mark.requirement("D63")
@pytest.mark.parametrize("half", [half_of_main, half_of_child])
async def test_who_waits_for_several_is_told_of_those_that_have_ended_in_the_new_conversation(
    driver: Driver, half: Callable[[Driver], Awaitable[tuple[Run, Run]]]
) -> None:
    waiting, other = await half(driver)
    await by_operator(driver, waiting.key)
    await driver.stop(other.id)
    ended, *_ = await driver.play(lambda run: Said(text="I see"))
    assert (ended.key, ended.request.kind) == (waiting.key, RunKind.CONTINUATION)
    assert ended.session_id == (await driver.session(waiting.key)).session_id != waiting.session_id
    (line,) = await told_in(driver, waiting.key)
    assert [part for part in line.splitlines() if part.startswith(("Status", "Result"))] == [
        *("Status: success", "Result: it is here"),
        *("Status: killed", "Result: (not available)"),
    ]
    assert len([one for one in await driver.history(waiting.key) if "it is here" in one]) == 1
    assert await driver.store.completions(waiting.key) == ()
    assert await driver.store.completions(MAIN) == ()


@pytest.mark.parametrize("kills", [True, False])
async def test_who_waits_for_several_of_whom_none_has_found_anything_does_not_go_on(
    driver: Driver, kills: bool
) -> None:
    turn = await asked(driver)
    await spawn(driver, turn, "find it")
    await spawn(driver, turn, "something else")
    await driver.finish(turn, Said(yielded=True))
    if kills:
        await driver.stop((await taken(driver)).id)
    await by_operator(driver, MAIN)
    assert await driver.play(lambda run: Said(text="I see")) == []
    assert await told_in(driver, MAIN) == []
    assert await driver.store.completions(MAIN) == ()
