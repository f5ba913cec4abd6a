"""PostgreSQL: the same statements with and without Roost, and what a second gateway adds.

What Roost asks the server is recorded once; bare asyncpg then asks the same, on tables with the same rows.
"""

import asyncio
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
from tests import postgres

from bench.figures import Figure, at_least, at_most
from bench.gateways import model_process
from bench.scale import size
from roost.clock import SystemClock
from roost.core.effects import AcceptInput, Effects, QueueRun
from roost.core.inbound import Inbound, InputMode
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.runs import Request
from roost.core.snapshots import Decide, Snapshot
from roost.core.turntaking import Backlog
from roost.engine.scheduler import RUNS
from roost.ports import Store
from roost.stores.postgres import PostgresStore
from roost.stores.postgres.connection import PostgresOptions
from roost.stores.postgres.notices import Notices
from roost.stores.postgres.transactions import Transactions
from roost.testing import builders

WRITERS, SLICE, ROOMS = 8, 2, size(10)
SLICES, CLAIMS = size(30), size(100, 3)
TURNS, TALKS = size(40, 2), size(3)
BENCH = Gateway(name="bench", holder="1")
SETTINGS = re.compile(r"search_path = \"\w+\"")
DONE = "SELECT count(*) FROM {schema}.runs WHERE state = 'done'"


Asked: TypeAlias = tuple[str, tuple[Any, ...]]
"""A method of a connection, and what it was given."""
Transaction: TypeAlias = list[Asked]


class Recording:
    """A connection that writes down what it is asked, and the pool it is in: one verb at a time."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._transactions: list[Transaction] = []
        self.execute = self._noted("execute")
        self.executemany = self._noted("executemany")
        self.fetch = self._noted("fetch")
        self.fetchrow = self._noted("fetchrow")
        self.fetchval = self._noted("fetchval")

    def _noted(self, method: str) -> Callable[..., Awaitable[Any]]:
        async def asked(query: str, *args: Any) -> Any:
            if query.startswith("BEGIN") or not self._transactions:
                self._transactions.append([])
            self._transactions[-1].append((method, (query, *args)))
            return await getattr(self._connection, method)(query, *args)

        return asked

    def take(self) -> list[Transaction]:
        """The transactions since the last time."""
        taken, self._transactions = self._transactions, []
        return taken

    async def acquire(self, *, timeout: float) -> "Recording":  # noqa: ASYNC109 — as a pool has it
        return self

    async def release(self, connection: "Recording") -> None:
        pass

    async def close(self) -> None:
        await self._connection.close()


async def asked_again(connection: asyncpg.Connection, transaction: Transaction, schema: str) -> None:
    for method, (query, *args) in transaction:
        await getattr(connection, method)(SETTINGS.sub(f'search_path = "{schema}"', query), *args)


# -- what is done ------------------------------------------------------------------------------------


def message_of(writer: int, number: int) -> tuple[Inbound, Decide]:
    room = SessionKey.named("main", f"room-{writer}-{number % ROOMS}")
    message = builders.inbound(f"m-{writer}-{number}", room)
    return message, builders.accept(message, f"r-{writer}-{number}", f"s-{writer}-{number % ROOMS}")


async def prepare(store: Store) -> None:
    """The same rows under the same numbers wherever it is done: one after another."""
    for writer in range(WRITERS):
        for number in range(ROOMS):
            await store.accept_inbound(*message_of(writer, number))


async def accept_some(store: Store, writer: int, part: int) -> None:
    for number in range(ROOMS + part * SLICE, ROOMS + (part + 1) * SLICE):
        await store.accept_inbound(*message_of(writer, number))


def first(backlog: Backlog) -> tuple[str, ...]:
    return (backlog.ready[0].id,)


async def claim(store: Store, lease: Lease) -> Callable[[], Awaitable[object]]:
    """Claim one run; what is left to be done with it."""
    (run,) = await store.claim_runs(lease, first)
    assert run.claim is not None
    claimed = run.claim

    async def finish() -> None:
        await store.take_inputs(claimed, lambda records: (builders.said(f"said {run.id}", "words"),))
        await store.finish_run(claimed, lambda snapshot: (builders.done(run.id),))

    return finish


# -- with Roost, and without -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """By writer, and by claim with what follows it."""

    accepts: list[list[Transaction]]
    claims: list[list[Transaction]]


async def recorded(address: str) -> Recorded:
    options, clock = PostgresOptions(schema="recorded"), SystemClock()
    await (await PostgresStore.open(f"{address}&schema=recorded", clock)).close()
    record = Recording(await asyncpg.connect(address))
    work = Transactions(record, options, address)
    store = PostgresStore(
        clock, None, work, work, lambda store: Notices(address, options, work, store.topics, clock)
    )
    await prepare(store)
    record.take()
    accepts = []
    for writer in range(WRITERS):
        for part in range(SLICES):
            await accept_some(store, writer, part)
        accepts.append(record.take())
    claims = []
    for _ in range(CLAIMS):
        lease = await store.acquire_lease(BENCH)
        record.take()
        finish = await claim(store, lease)
        await finish()
        claims.append(record.take())
    await store.close()
    return Recorded(accepts=accepts, claims=claims)


class Ours:
    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    async def prepared(cls, address: str) -> "Ours":
        store = await PostgresStore.open(f"{address}&schema=ours", SystemClock())
        await prepare(store)
        return cls(store)

    async def accept(self, part: int) -> float:
        began = time.perf_counter()
        await asyncio.gather(*(accept_some(self._store, writer, part) for writer in range(WRITERS)))
        return time.perf_counter() - began

    async def claim(self, number: int) -> float:
        lease = await self._store.acquire_lease(BENCH)
        began = time.perf_counter()
        finish = await claim(self._store, lease)
        taken = time.perf_counter() - began
        await finish()
        return taken

    async def close(self) -> None:
        await self._store.close()


class Bare:
    """The same statements through asyncpg and nothing else; a connection for every writer."""

    def __init__(self, connections: list[asyncpg.Connection], record: Recorded) -> None:
        self._connections = connections
        self._record = record

    @classmethod
    async def prepared(cls, address: str, record: Recorded) -> "Bare":
        store = await PostgresStore.open(f"{address}&schema=bare", SystemClock())
        await prepare(store)
        await store.acquire_lease(BENCH)
        await store.close()
        return cls([await asyncpg.connect(address) for _ in range(WRITERS)], record)

    async def accept(self, part: int) -> float:
        began = time.perf_counter()
        await asyncio.gather(*(self._accept(writer, part) for writer in range(WRITERS)))
        return time.perf_counter() - began

    async def _accept(self, writer: int, part: int) -> None:
        for transaction in self._record.accepts[writer][part * SLICE : (part + 1) * SLICE]:
            await asked_again(self._connections[writer], transaction, "bare")

    async def claim(self, number: int) -> float:
        claimed, *rest = self._record.claims[number]
        began = time.perf_counter()
        await asked_again(self._connections[0], claimed, "bare")
        taken = time.perf_counter() - began
        for transaction in rest:
            await asked_again(self._connections[0], transaction, "bare")
        return taken

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()


async def statements(address: str) -> list[Figure]:
    """Both in turns, one small part after another: the machine's other work hits both alike."""
    ours = await Ours.prepared(address)
    bare = await Bare.prepared(address, await recorded(address))
    slices = [(await ours.accept(part), await bare.accept(part)) for part in range(SLICES)]
    claims = [(await ours.claim(number), await bare.claim(number)) for number in range(CLAIMS)]
    await ours.close()
    await bare.close()
    rate, floor = (WRITERS * SLICE / statistics.median(side) for side in zip(*slices, strict=True))
    latency, least = (statistics.median(side) * 1000 for side in zip(*claims, strict=True))
    return [
        at_least(f"accept on PostgreSQL, {WRITERS} writers", rate, floor, "txn/s", 0.5),
        at_most("claim of a run on PostgreSQL, p50", latency, least, "ms", 2),
    ]


# -- more gateways -----------------------------------------------------------------------------------


@contextmanager
def gateway(address: str, model_url: str, name: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.postgres_process", address, model_url, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "serves"
        yield


async def ask(store: Store, number: int) -> None:
    """A message to a session of its own."""
    message = builders.inbound(f"m-{number}", SessionKey.named("main", f"talk-{number}"))
    run = builders.run(f"r-{number}", message.key, request=Request())

    def decide(snapshot: Snapshot) -> Effects:
        return (
            builders.opening(builders.session(message.key), f"s-{number}"),
            QueueRun(run=run),
            AcceptInput(inbound=message, run_id=run.id, mode=InputMode.OPEN),
        )

    await store.accept_inbound(message, decide)


async def turns_a_second(address: str, schema: str, model_url: str, gateways: int) -> float:
    """All that was asked before, worked off by so many gateways."""
    address = f"{address}&schema={schema}"
    store, numbers = await PostgresStore.open(address, SystemClock()), count()
    with ExitStack() as stack:
        for number in range(gateways):
            stack.enter_context(gateway(address, model_url, f"gateway-{number}"))
        began = time.perf_counter()
        for _ in range(TALKS):
            await asyncio.gather(*(ask(store, number) for number in islice(numbers, TURNS)))
        await store.wait_for(RUNS, partial(all_done, address, schema))
        rate = TURNS * TALKS / (time.perf_counter() - began)
    await store.close()
    return rate


async def all_done(address: str, schema: str) -> bool | None:
    connection = await asyncpg.connect(address.partition("&schema=")[0])
    try:
        done = await connection.fetchval(DONE.format(schema=schema))
    finally:
        await connection.close()
    return True if done >= TURNS * TALKS else None


async def more_gateways(address: str) -> list[Figure]:
    one = two = 0.0
    with model_process() as url:
        for number in range(size(2)):
            one = max(one, await turns_a_second(address, f"one_{number}", url, 1))
            two = max(two, await turns_a_second(address, f"two_{number}", url, 2))
    return [at_least("two gateways, a model of 200 ms", two, one, "turns/s", 1.6)]


async def measure(folder: Path) -> list[Figure]:
    programs = postgres.binaries()
    if programs is None:
        raise RuntimeError(f"no PostgreSQL: {postgres.REMEDY}")
    with postgres.running(programs) as server:
        return [*await statements(server.address), *await more_gateways(server.address)]
