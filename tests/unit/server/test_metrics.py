"""Figures of a gateway."""

from dataclasses import replace

import anyio
import pytest

from roost.core.deliveries import DeliveryState
from roost.core.leases import Gateway, Lease
from roost.core.runs import Outcome, RunState
from roost.core.workload import Workload
from roost.server.metrics import REMEMBERED, Lag, Meters
from roost.testing import builders
from roost.testing.clock import FakeClock
from tests.waiting import until_all_wait


def test_the_worst_of_a_while_is_remembered_and_then_forgotten() -> None:
    lag = Lag()
    assert (lag.last, lag.most) == (0.0, 0.0)
    lag.add(2.0)
    lag.add(1.0)
    assert (lag.last, lag.most) == (1.0, 2.0)
    for _ in range(REMEMBERED):
        lag.add(0.5)
    assert lag.most == 0.5


async def _text(meters: Meters) -> list[str]:
    held = Lease(gateway=Gateway(name="a", holder="a"), epoch=1, expires_at=10)
    lost = replace(held, expires_at=5)
    work = Workload(runs={RunState.QUEUED: 3}, deliveries={DeliveryState.FAILED: 2})
    return (await meters.text(work, (held, lost), 4, now=6)).decode().splitlines()


async def test_figures_are_written_with_few_labels() -> None:
    lines = await _text(Meters())
    for line in (
        'roost_runs{state="queued"} 3.0',
        'roost_runs{state="running"} 0.0',
        'roost_deliveries{state="failed"} 2.0',
        "roost_leases 1.0",
        "roost_connections 4.0",
    ):
        assert line in lines
    assert len(lines) < 100


async def test_a_run_counts_once_it_began_and_ended() -> None:
    meters, queued = Meters(), builders.run("r-1")
    ended = replace(queued, outcome=Outcome(state=RunState.KILLED, at=queued.queued_at + 3_000))
    for run in (queued, ended, replace(ended, started_at=queued.queued_at + 1_000)):
        meters.over(run)
    lines = await _text(meters)
    assert 'roost_run_seconds_sum{kind="turn",state="killed"} 2.0' in lines
    assert "roost_run_wait_seconds_sum 1.0" in lines


@pytest.mark.parametrize("looks", [3])
async def test_the_event_loop_is_looked_at(looks: int) -> None:
    meters, clock = Meters(), FakeClock()
    async with anyio.create_task_group() as group:
        group.start_soon(meters.watch, clock)
        for _ in range(looks):
            await until_all_wait()
            clock.advance(500)
        await until_all_wait()
        group.cancel_scope.cancel()
    assert f"roost_event_loop_lag_seconds_count {looks}.0" in await _text(meters)
