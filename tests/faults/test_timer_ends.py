"""Gateways that end at any moment, in turn, over one PostgreSQL store: each time a job is due is one time."""

import itertools
import math
import random
from functools import partial

import anyio

from roost.clock import SystemClock
from roost.core.errors import Fenced
from roost.core.firings import FiringState
from roost.core.jobs import Job, Missed, Place, SystemEvent
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.schedules import Every, next_due
from roost.engine.ids import FreshIds
from roost.engine.rulebook import Rulebook
from roost.engine.rules import Rules
from roost.engine.timers import Timers
from roost.ports import Store, Topic, TopicKind
from roost.stores.postgres import PostgresStore
from tests import postgres
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
        place=Place.SESSION,
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
