"""Gateways that end at any moment, in turn, over one PostgreSQL store: each time a job is due is one time, and one run."""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from roost.clock import SystemClock
from roost.core.errors import Fenced
from roost.core.firings import FiringState
from roost.core.jobs import AgentTurn, Job, JobPlace, Missed, Overlap, SystemEvent
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import AssistantMessage, UserMessage
from roost.core.queries import HistoryQuery, SessionQuery
from roost.core.recovery import MOST_RECOVERIES
from roost.core.runs import RunState
from roost.core.schedules import Every, next_due
from roost.engine.ids import FreshIds
from roost.engine.rulebook import Rulebook
from roost.engine.rules import Rules
from roost.engine.scheduler import RUNS
from roost.engine.timers import Timers
from roost.ports import Store, Topic, TopicKind
from roost.stores.postgres import PostgresStore
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import Say
from tests import postgres
from tests.faults.crew import crews
from tests.jobs import job, zones
from tests.scale import count
from tests.unit.engine.timing import no_cast

JOBS, TIMES, ENDS = count(12, 200), count(3, 12), count(4, 20)
SPAN = 1_000


def made(number: int, now: int) -> Job:
    return job(
        f"j{number}",
        schedule=Every(every_ms=SPAN, anchor=now + number),
        next_at=now + number,
        place=JobPlace.SESSION,
        key=SessionKey.named("main", f"s{number}"),
        work=SystemEvent(text="tick"),
        missed=Missed.ONCE,
    )


async def serve(address: str, name: str) -> None:
    """One life of a gateway: it holds its lease and takes up what is due."""
    clock = SystemClock()
    store = await PostgresStore.open(address, clock)
    try:
        lease = await store.acquire_lease(Gateway(name=name, holder=name))
        timers = Timers(store, clock, FreshIds(clock), Rulebook(Rules(cast=no_cast)))  # type: ignore[arg-type]
        async with anyio.create_task_group() as group:
            group.start_soon(renew, store, lease)
            group.start_soon(timers.serve, lease)
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


async def renew(store: Store, lease: object) -> None:
    while True:
        await anyio.sleep(2)
        await store.renew_lease(lease)  # type: ignore[arg-type]


async def lives(address: str, name: str, chance: random.Random) -> None:
    """One life after another, the first of them ended at some moment; one that was too slow to keep its lease ends too."""
    for number in itertools.count():
        with anyio.move_on_after(0.2 + chance.random() if number < ENDS else math.inf):
            try:
                await serve(address, name)
            except* Fenced:
                pass


async def test_each_time_is_one_time_whichever_gateway_ends_when(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    clock = SystemClock()
    store = await PostgresStore.open(postgres_server, clock)
    jobs = [made(number, clock.now()) for number in range(JOBS)]
    for one in jobs:
        await store.change_job(one.id, partial(lambda known, kept: kept, kept=one))

    async def enough() -> bool | None:
        counts = [await store.count_firings(one.id) for one in jobs]
        return True if min(counts) >= TIMES else None

    async with anyio.create_task_group() as group:
        for number, name in enumerate(("one", "two")):
            group.start_soon(lives, postgres_server, name, random.Random(number))
        with anyio.fail_after(600):
            await store.wait_for(Topic(TopicKind.JOBS), enough)
        group.cancel_scope.cancel()
    for one in jobs:
        await judge(store, one)
    assert await store.check() == ()
    await store.close()


async def judge(store: Store, one: Job) -> None:
    """Every time follows from the one before it, and brought exactly one event."""
    rows = (await store.firings(one.id, limit=10_000)).rows[::-1]
    assert {row.state for row in rows} == {FiringState.OK}
    due = one.next_at
    for row in rows:
        assert row.due_at == due
        due = next_due(one.plan.schedule, max(row.at, row.due_at), zones)
    after = await store.job(one.id)
    assert after is not None
    assert after.next_at == due
    assert one.plan.key is not None
    assert len(await store.pending_inputs(one.plan.key)) == len(rows)


# -- real gateways, killed ---------------------------------------------------------------------------

TURNING, TURNS, TURN_SPAN, KILLS = count(4, 200), count(2, 5), count(1_000, 10_000), count(2, 20)
FIRINGS = Topic(TopicKind.JOBS)


def turning(number: int, now: int) -> Job:
    return job(
        f"j{number}",
        schedule=Every(every_ms=TURN_SPAN, anchor=now + number),
        next_at=now + number,
        place=JobPlace.SESSION,
        key=SessionKey.named("main", f"s{number}"),
        work=AgentTurn(message="tick"),
        overlap=Overlap.WAIT,
    )


@pytest.mark.requirement("P30")
@pytest.mark.timeout(1_800)
async def test_each_time_is_one_run_whichever_gateway_is_killed_when(
    postgres_server: str, tmp_path: Path
) -> None:
    await postgres.empty(postgres_server)
    clock = SystemClock()
    store = await PostgresStore.open(postgres_server, clock)
    jobs = [turning(number, clock.now()) for number in range(TURNING)]

    async def fired() -> list[int]:
        return [await store.count_firings(one.id) for one in jobs]

    async def until(times: Callable[[list[int]], bool]) -> None:
        async def enough() -> bool | None:
            return True if times(await fired()) else None

        await store.wait_for(FIRINGS, enough)

    async with (
        FakeOpenAI(otherwise=lambda asked: reply_of([Say("tock")])) as model,
        crews(tmp_path, postgres_server, model.base_url, "one", "two") as members,
    ):
        for one in jobs:
            await store.change_job(one.id, partial(lambda known, kept: kept, kept=one))
        for kill, member in zip(range(KILLS), itertools.cycle(members), strict=False):
            await member.serves()
            before = sum(await fired())
            await until(lambda counts, least=before + TURNING // 4: sum(counts) >= least)  # type: ignore[misc]
            print(f"kill {kill} after {sum(await fired())} times")  # noqa: T201 — shown when it fails
            member.kill()
        await until(lambda counts: min(counts) >= TURNS)
        for one in jobs:
            await store.change_job(one.id, lambda known: known and replace(known, next_at=None))
        await settled(store)
    runs = [await judge_turns(store, one) for one in jobs]
    print(f"{sum(runs)} runs of {TURNING} jobs, {KILLS} kills")  # noqa: T201 — shown when it fails
    assert await store.check() == ()
    await store.close()


async def settled(store: Store) -> None:
    async def at_rest() -> bool | None:
        page = await store.list_sessions(SessionQuery(limit=TURNING + 1))
        return None if any(row.status.active for row in page.rows) else True

    await store.wait_for(RUNS, at_rest)


async def judge_turns(store: Store, one: Job) -> int:
    """Every time follows from the one before it, and was one turn: one question in its session, and one answer, unless
    its gateways were killed so often that it is given up."""
    rows = (await store.firings(one.id, limit=10_000)).rows[::-1]
    due = one.next_at
    turns: list[tuple[str, type]] = []
    for row in rows:
        assert row.due_at == due
        assert row.run_id is not None
        run = await store.run(row.run_id)
        assert run is not None
        given_up = run.progress.recoveries >= MOST_RECOVERIES and run.state is RunState.INTERRUPTED
        ends = (RunState.INTERRUPTED, FiringState.ERROR) if given_up else (RunState.DONE, FiringState.OK)
        assert (run.state, row.state) == ends, run
        turns += [(run.id, UserMessage), *(() if given_up else ((run.id, AssistantMessage),))]
        due = next_due(one.plan.schedule, max(row.at, row.due_at), zones)
    assert one.plan.key is not None
    page = await store.history(HistoryQuery(key=one.plan.key, limit=10_000))
    said = [(entry.run_id, type(entry.body)) for entry in page.entries]
    assert said == turns
    return len(rows)
