"""A gateway that ends at any call while money is short: the limit holds, each user is told once, nothing is lost."""

from dataclasses import dataclass, replace

import pytest

from roost.core.budgets import BudgetScope, Limit, Measure
from roost.core.messages import Usage
from roost.core.models import ModelRequest
from roost.core.queries import LedgerQuery
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.engine.rules import Part, Rules
from roost.ports import Tool
from roost.testing.crashing import Crashes
from roost.testing.scripts import Say, Script, Spend
from tests.faults.lives import CHAT, SPEC, Lives, Saying, points, sayings
from tests.grounds import Ground

COST = 900
# Enough for the first call whatever became of it, and for no other.
LOW, HIGH = 1_500, 100_000
MESSAGES = ("one", "two")
ONE_IN = {"memory": 3, "sqlite": 7, "postgres": 13}


@dataclass(kw_only=True)
class Scene(Lives):
    """`billed` is what the provider asks for, `hard` the limit."""

    sayings: tuple[Saying, ...] = sayings(*MESSAGES)
    billed: int = 0
    hard: int = LOW

    def answer(self, request: ModelRequest) -> Script:
        self.billed += COST
        return (Say("answered"), Spend(Usage(input=COST - 1, output=1, total=COST)))

    def part(self, crashes: Crashes, tools: tuple[Tool, ...]) -> Part:
        return replace(super().part(crashes, tools), spec=replace(SPEC, max_tokens=1_000))

    def rules(self, part: Part) -> Rules:
        return replace(
            super().rules(part),
            queue=QueuePolicy(base=QueueSettings(mode=QueueMode.FOLLOWUP, debounce_ms=0)),
            budgets=(Limit(scope=BudgetScope.DAY, measure=Measure.TOKENS, hard=self.hard),),
        )


async def assert_kept(scene: Scene, *, told: int) -> None:
    """Every message is answered once and whoever was refused was told once; the ledger misses nothing of the bill."""
    shown = scene.channel.replies(CHAT)
    assert [text for text in shown if "used up" not in text] == ["answered"] * len(MESSAGES)
    assert len(shown) - len(MESSAGES) == told
    assert (await scene.store.usage(LedgerQuery())).usage.total >= scene.billed
    assert await scene.store.check() == ()


@pytest.mark.requirement("P20", "P10")
@pytest.mark.timeout(900)
async def test_after_a_crash_at_any_call_the_limit_holds_and_each_refused_user_was_told_once(
    ground: Ground,
) -> None:
    async with Scene(ground=await ground.fresh("dry")) as scene:
        calls = (await scene.live()).calls
        assert "store.reserve" in calls
        scene.hard = HIGH
        await scene.live()
        await assert_kept(scene, told=1)
    for point in points(ground.kind, calls, ONE_IN, {"store.reserve"}):
        async with Scene(ground=await ground.fresh(f"{point.at}-{point.moment}")) as scene:
            await scene.strike(point)
            await scene.live()
            assert scene.billed <= LOW
            scene.hard = HIGH
            await scene.live()
            # A crash in the first call leaves it without means for a second try: then that one is told, once.
            await assert_kept(scene, told=1)
