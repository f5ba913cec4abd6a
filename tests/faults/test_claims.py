"""How gateways claim and take over runs, in thousands of played schedules: none is run twice, and none is lost."""

import pytest

from roost.core.entries import Entry
from roost.core.ledger import LedgerRow
from roost.core.runs import Claim, Run, Step
from roost.core.snapshots import Advance
from roost.ports import Begin, Render, Store
from roost.testing.crashing import Crashes, CrashingStore
from tests.faults.claims import DoubleRun, Simulation
from tests.scale import seeds

MOST = 1_000


class Fenceless(CrashingStore):
    """Whoever writes to a run does so under the claim it has now, as if nobody looked at the fence."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, Crashes())
        self._checked = store
        self.take_inputs = self._take_inputs
        self.begin_step = self._begin_step
        self.finish_run = self._finish_run

    async def _newest(self, claim: Claim) -> Claim:
        run = await self._checked.run(claim.id)
        return claim if run is None or run.claim is None else run.claim

    async def _take_inputs(
        self, claim: Claim, render: Render, begin: Begin | None = None
    ) -> tuple[Entry, ...]:
        return await self._checked.take_inputs(await self._newest(claim), render, begin)

    async def _begin_step(self, claim: Claim, step: Step, call: LedgerRow | None = None) -> None:
        await self._checked.begin_step(await self._newest(claim), step, call)

    async def _finish_run(self, claim: Claim, advance: Advance) -> Run:
        return await self._checked.finish_run(await self._newest(claim), advance)


@pytest.mark.requirement("P30", "P10")
@pytest.mark.timeout(3_000)
async def test_no_schedule_of_delays_crashes_and_pauses_runs_anything_twice_or_loses_it() -> None:
    recovered = 0
    for seed in seeds(100, 10_000):
        played = Simulation(seed)
        played.play()
        recovered += sum(fence > 1 for fence in played.newest.values())
    assert recovered, "nothing was ever taken over: this proves nothing"


@pytest.mark.timeout(600)
async def test_without_the_fence_the_same_schedules_run_something_twice() -> None:
    """The test above can fail: it does as soon as nobody looks at the fence."""
    for seed in range(MOST):
        try:
            Simulation(seed, wrap=Fenceless).play()
        except DoubleRun:
            return
    pytest.fail("nothing was run twice: these schedules prove nothing")


async def test_a_schedule_follows_from_its_seed() -> None:
    first, second = Simulation(7), Simulation(7)
    first.play()
    second.play()
    assert (first.elapsed, first.newest) == (second.elapsed, second.newest)
