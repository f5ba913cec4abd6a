from collections.abc import Callable
from dataclasses import replace

import pytest

from roost.core.entries import Entry, EntryDraft
from roost.core.errors import InvalidInput
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import person
from roost.core.queries import LedgerQuery
from roost.core.runs import Claim, RunState
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import Say, Script, Spend, calls
from tests.unit.engine.scenes import Failing, Scene, call, outcome, runner


async def test_a_run_has_moved_when_it_begins_and_whenever_it_says_so() -> None:
    scene = Scene()
    work = await scene.work(await scene.claimed())
    scene.clock.advance(5)
    assert work.idle_ms == 5
    work.move()
    assert work.idle_ms == 0


async def test_what_is_done_aside_is_the_runs_own_progress_in_another_part() -> None:
    scene = Scene()
    work = await scene.work(await scene.claimed())
    part = work.part
    aside = work.aside(part)
    aside.playing.part = replace(part, reason="a fallback")
    work.headway.run = replace(work.run, cause=replace(work.run.cause, principal=person("telegram", "7")))
    scene.clock.advance(5)
    aside.move()
    assert work.part is part
    assert aside.run == work.run
    assert work.idle_ms == 0


class NotAppending(MemoryStore):
    """Does not keep what a run writes on its way."""

    async def append(
        self,
        key: SessionKey,
        drafts: tuple[EntryDraft, ...],
        *,
        claim: Claim | None = None,
        spent: tuple[LedgerRow, ...] = (),
    ) -> tuple[Entry, ...]:
        raise InvalidInput("not that")


SPENT = Spend(Usage(input=40, output=2))


@pytest.mark.requirement("P19")
@pytest.mark.parametrize(
    ("store", "script"),
    [
        pytest.param(NotAppending, (*calls(call("nothing")), SPENT), id="while it goes on"),
        pytest.param(lambda clock: Failing(clock, ZeroDivisionError()), (Say("Hi."), SPENT), id="at its end"),
    ],
)
async def test_what_a_call_cost_is_in_the_ledger_once_though_what_came_of_it_could_not_be_kept(
    store: Callable[[FakeClock], MemoryStore], script: Script
) -> None:
    scene = Scene()
    scene.store = store(scene.clock)
    scene.model.add(script)
    run = await scene.claimed()
    await runner(scene).run(run)
    assert (await outcome(scene, run))[0] is RunState.FAILED
    total = await scene.store.usage(LedgerQuery(key=run.key))
    assert (total.calls, total.usage.input, total.usage.output) == (1, 40, 2)
