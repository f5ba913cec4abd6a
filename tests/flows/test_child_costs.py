"""What the end of a child may cost: it is told without a model where there are no means for one, and at the time it was."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from roost.core.budgets import BudgetScope
from roost.core.leases import Gateway
from roost.core.messages import ToolResult
from roost.core.models import ModelRequest
from roost.testing.clock import FakeClock
from roost.testing.scripts import Say, Script, Spend, Until
from tests.flows.gateways import SPEC
from tests.flows.nursery import MAIN, Nursery, announcing, newest, nurseries, spawns, task_of
from tests.flows.test_budgets import PRICES, tokens, used
from tests.grounds import KINDS, GroundOf

GATEWAY = Gateway(name="flow", holder="flow")
WORK_MS, WORDS_MS = 61_000, 30_000

pytestmark = pytest.mark.timeout(30)


@pytest.fixture(params=KINDS)
async def nursery(
    request: pytest.FixtureRequest, ground_of: GroundOf, clock: FakeClock
) -> AsyncIterator[Nursery]:
    ground = await ground_of(request.param).fresh("nursery")
    async with nurseries(ground, lambda request: [Say("nothing")], clock) as nursery:
        yield nursery


@pytest.mark.requirement("P1", "P20", "D27")
async def test_a_child_whose_budget_is_used_up_is_told_of_at_once_and_nobody_is_told_to_wait(
    nursery: Nursery,
) -> None:
    """No time passes here: whoever waited for another day or for a limit would wait for good."""

    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return [Until(nursery.answered), Say("found it"), Spend(used(9_000))]
        if isinstance(newest(request), ToolResult):
            return [Say("Begun."), Spend(used(100))]
        return [*spawns("look"), Spend(used(100))]

    def cheap(*given: object) -> object:
        return replace(nursery.cast(*given), spec=replace(SPEC, prices=PRICES, max_tokens=1_000))  # type: ignore[arg-type]

    nursery.act = act
    nursery.bench.change(cast=cheap, budgets=(tokens(9_500, scope=BudgetScope.TREE),))
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.until_answered()
        _, told, *more = await nursery.bench.replies(at_least=2)
    assert told.splitlines()[:2] == ["Status: success", "Result: found it"]
    assert more == []
    assert await nursery.bench.store.completions(MAIN) == ()
    (denial,) = await nursery.bench.store.denials(10)
    assert denial.operation == "model_call"


@pytest.mark.requirement("D29")
async def test_a_child_ran_until_its_end_and_not_until_it_had_found_words_for_it(
    nursery: Nursery, clock: FakeClock
) -> None:
    def act(request: ModelRequest) -> Script:
        if announcing(request):
            clock.advance(WORDS_MS)
            return [Say("Result: five")]
        if task_of(request):
            clock.advance(WORK_MS)
            return [Until(nursery.answered), Say("five")]
        return [Say("Begun.")] if isinstance(newest(request), ToolResult) else spawns("count")

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("go")
        await nursery.until_answered()
        (_, told) = await nursery.bench.replies(at_least=2)
    assert "Stats: runtime 1m01s • " in told
