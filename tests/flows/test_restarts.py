"""A gateway that starts again: what it left unfinished has its fate at once, and what comes again is known."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import anyio
import pytest

from roost.clock import SystemClock
from roost.core.addresses import Address
from roost.core.effects import Effects, QueueRun
from roost.core.inbound import Inbound
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.recovery import MAX_AGE_MS
from roost.core.retention import Retention
from roost.core.runs import Run, RunState, Step, StepKind
from roost.core.snapshots import Snapshot
from roost.ports import Store
from roost.stores.sqlite import SqliteStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from roost.testing.crashing import Crashed, Crashes, CrashingStore, CrashPoint, Moment
from roost.testing.scripts import Say
from tests.flows.driver import Driver, Said, claim_of, dm
from tests.flows.gateways import Bench
from tests.scale import count

RUNS = 100
WITHIN_S = count(30, 5)
WEEK = 7 * 86_400_000


def chat(number: int) -> Address:
    return Address(channel="loopback", to=str(number))


async def left_in_flight(path: Path) -> None:
    """Runs that were under way when their gateway was killed, every tenth of them for long."""
    now = SystemClock().now()
    clock = FakeClock(now - 2 * MAX_AGE_MS)
    store = SqliteStore.open(path, clock, database_clock=SystemClock())
    lease = await store.acquire_lease(Gateway(name="flow", holder="killed"))
    await begun(store, lease, range(0, RUNS, 10))
    clock.advance(now - 1_000 - clock.now())
    await begun(store, lease, [number for number in range(RUNS) if number % 10])
    await store.close()


async def begun(store: Store, lease: Lease, numbers: Iterable[int]) -> None:
    for number in numbers:
        lease = await store.renew_lease(lease)
        key = SessionKey.parse(f"agent:main:loopback:direct:{number}")
        message = replace(builders.inbound(f"m-{number}", key), reply_to=chat(number))

        def decide(snapshot: Snapshot, message: Inbound = message, number: int = number) -> Effects:
            opened, queued, accepted = builders.accept(message, f"run-{number}", f"s-{number}")(snapshot)
            assert isinstance(queued, QueueRun)
            request = replace(queued.run.request, reply_to=message.reply_to)
            return (opened, QueueRun(run=replace(queued.run, request=request)), accepted)

        await store.accept_inbound(message, decide)
        (run,) = await store.claim_runs(lease, lambda backlog: tuple(one.id for one in backlog.ready))
        assert run.started_at is not None
        await store.begin_step(claim_of(run), Step(kind=StepKind.MODEL, at=run.started_at))


def bench_on(store: Store) -> Bench:
    bench = Bench(store, SystemClock())
    bench.model.otherwise = (Say("here you are"),)
    return bench


async def every_run(store: Store) -> list[Run]:
    found = [await store.run(f"run-{number}") for number in range(RUNS)]
    return [run for run in found if run is not None]


async def dies_after_its_recovery(path: Path) -> None:
    store = SqliteStore.open(path, SystemClock())
    point = CrashPoint(at=1, moment=Moment.AFTER, call="store.reap_runs")
    crashes = Crashes(point)
    try:
        async with bench_on(CrashingStore(store, crashes)).serving():
            raise AssertionError("it serves")
    except* Crashed:
        pass
    assert crashes.struck
    await store.close()


@pytest.mark.requirement("P10")
@pytest.mark.parametrize("deaths", [0, 1])
async def test_a_hundred_runs_in_flight_have_their_fate_within_five_seconds_of_the_start(
    deaths: int, tmp_path: Path
) -> None:
    path = tmp_path / "roost.db"
    await left_in_flight(path)
    for _ in range(deaths):
        await dies_after_its_recovery(path)
    store = SqliteStore.open(path, SystemClock())
    bench = bench_on(store)
    started = anyio.current_time()
    async with bench.serving() as (engine, lease):
        found = await every_run(store)
        assert anyio.current_time() - started < WITHIN_S
        assert {run.claim.epoch for run in found if run.claim and not run.state.ended} <= {lease.epoch}
        with anyio.fail_after(60):
            await engine.settled()
    states = Counter(run.state for run in await every_run(store))
    assert states == {RunState.DONE: RUNS * 9 // 10, RunState.INTERRUPTED: RUNS // 10}
    for number in range(RUNS):
        (told,) = bench.channel.replies(chat(number))
        assert (told == "here you are") is (number % 10 != 0)
    await store.close()


@pytest.mark.requirement("P14")
async def test_messages_that_come_again_within_a_week_begin_no_second_run(
    driver: Driver, clock: FakeClock
) -> None:
    chance, retention = Random(14), Retention()
    coming = [number for number in range(count(60, 1_000)) for _ in range(chance.randint(1, 4))]
    chance.shuffle(coming)
    first: dict[int, int] = {}
    runs: list[Run] = []
    for place, number in enumerate(coming):
        if clock.now() - first.get(number, clock.now()) >= WEEK:
            continue
        taken = await driver.hear(replace(dm(f"message {number}"), external_id=f"update-{number}"))
        assert taken.duplicate is (number in first)
        first.setdefault(number, clock.now())
        runs += await driver.play(lambda run: Said(text="hi"))
        await driver.store.sweep(retention.at(clock.now()))
        if place % 10 == 0:
            await driver.home.restart()
        clock.advance(chance.randint(0, 2 * WEEK // len(coming)))
    assert len({run.id for run in runs}) == len(runs) == len(first)
