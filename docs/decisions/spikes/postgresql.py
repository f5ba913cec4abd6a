"""Do the store's verbs fit PostgreSQL? Run against a server that may be written to:

    python docs/decisions/spikes/postgresql.py postgresql://user@host/database

It makes a schema `roost_spike`, runs Roost's own verbs over a few tables there from several "gateways" at once, prints
what it proved and drops the schema. It holds only the row operations that accepting, claiming and budgets need.
"""

import asyncio
import secrets
import sys
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import asyncpg

from roost.clock import SystemClock
from roost.core.budgets import Balance, Balances, Hold, Measure, Reservation
from roost.core.errors import Conflict
from roost.core.events import Event
from roost.core.inbound import Inbound, InboundRecord, Source
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.parking import Granted
from roost.core.runs import Run, RunKind, RunState
from roost.core.seals import Seals
from roost.core.sessions import Generation, Session
from roost.core.snapshots import Snapshot
from roost.core.turntaking import Limits, choose
from roost.stores.codec import decode, encode, key_text
from roost.stores.unit import Unit
from roost.stores.verbs import StoreVerbs
from roost.testing.builders import accept, inbound, opening, session
from roost.testing.clock import NOON

SCHEMA = """
DROP SCHEMA IF EXISTS roost_spike CASCADE;
CREATE SCHEMA roost_spike;
CREATE TABLE roost_spike.gateways (name text PRIMARY KEY, body text NOT NULL);
CREATE TABLE roost_spike.sessions (key text PRIMARY KEY, body text);
CREATE TABLE roost_spike.generations (session_id text PRIMARY KEY, body text NOT NULL);
CREATE TABLE roost_spike.inbound (
    seq bigint GENERATED ALWAYS AS IDENTITY, id text PRIMARY KEY, key text NOT NULL, external_id text UNIQUE,
    state text NOT NULL, body text NOT NULL);
CREATE TABLE roost_spike.runs (
    seq bigint GENERATED ALWAYS AS IDENTITY, id text PRIMARY KEY, key text NOT NULL, state text NOT NULL, body text NOT NULL);
CREATE INDEX ON roost_spike.runs (key) WHERE state IN ('queued', 'running');
CREATE TABLE roost_spike.budgets (
    name text PRIMARY KEY, since bigint NOT NULL, spent bigint NOT NULL, held bigint NOT NULL, warned bigint NOT NULL);
CREATE TABLE roost_spike.reservations (id text PRIMARY KEY, run_id text NOT NULL, body text NOT NULL);
CREATE TABLE roost_spike.ledger (id text PRIMARY KEY, body text NOT NULL);
CREATE TABLE roost_spike.events (
    key text NOT NULL, number bigint NOT NULL, ref text NOT NULL, committed xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (key, number));
"""


class SpikeTables:
    """Row operations on one connection inside one transaction."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._sql = connection

    async def _bodies(self, hint: Any, statement: str, *values: Any) -> tuple[Any, ...]:
        return tuple(decode(hint, row["body"]) for row in await self._sql.fetch(statement, *values))

    async def _body(self, hint: Any, statement: str, *values: Any) -> Any:
        return next(iter(await self._bodies(hint, statement, *values)), None)

    async def database_now(self) -> int:
        # Time stands still: no lease runs out here, however slow the machine is.
        return NOON

    async def leases(self) -> tuple[Lease, ...]:
        return await self._bodies(Lease, "SELECT body FROM gateways ORDER BY name")

    async def lock_leases(self) -> tuple[Lease, ...]:
        await self._sql.execute("LOCK TABLE gateways IN EXCLUSIVE MODE")
        return await self.leases()

    async def keep_lease(self, name: str) -> Lease | None:
        return await self._body(Lease, "SELECT body FROM gateways WHERE name = $1 FOR SHARE", name)

    async def lock_lease(self, name: str) -> Lease | None:
        return await self._body(Lease, "SELECT body FROM gateways WHERE name = $1 FOR UPDATE", name)

    async def put_lease(self, lease: Lease) -> None:
        await self._sql.execute(
            "INSERT INTO gateways VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
            lease.gateway.name,
            encode(lease),
        )

    async def delete_lease(self, name: str) -> None:
        await self._sql.execute("DELETE FROM gateways WHERE name = $1", name)

    async def lock_session(self, key: SessionKey) -> Session | None:
        # Created first, then locked: two who open the same key wait for each other here.
        await self._sql.execute(
            "INSERT INTO sessions VALUES ($1, NULL) ON CONFLICT DO NOTHING", key_text(key)
        )
        body = await self._sql.fetchval("SELECT body FROM sessions WHERE key = $1 FOR UPDATE", key_text(key))
        return None if body is None else decode(Session, body)

    async def insert_session(self, row: Session) -> None:
        await self.update_session(row, row)

    async def update_session(self, was: Session, now: Session) -> None:
        await self._sql.execute(
            "UPDATE sessions SET body = $2 WHERE key = $1", key_text(was.key), encode(now)
        )

    async def last_event(self, key: SessionKey) -> int:
        return 0

    async def generation(self, session_id: str) -> Generation | None:
        return await self._body(Generation, "SELECT body FROM generations WHERE session_id = $1", session_id)

    async def insert_generation(self, generation: Generation) -> None:
        await self._sql.execute(
            "INSERT INTO generations VALUES ($1, $2)", generation.session_id, encode(generation)
        )

    async def same_inbound(self, message: Inbound) -> InboundRecord | None:
        return await self._body(
            InboundRecord, "SELECT body FROM inbound WHERE external_id = $1", message.source.external_id
        )

    async def inbound(self, inbound_id: str) -> InboundRecord | None:
        return await self._body(InboundRecord, "SELECT body FROM inbound WHERE id = $1", inbound_id)

    async def pending_inputs(self, key: SessionKey) -> tuple[InboundRecord, ...]:
        return await self._bodies(
            InboundRecord,
            "SELECT body FROM inbound WHERE key = $1 AND state = 'pending' ORDER BY seq",
            key_text(key),
        )

    async def merged_inputs(self, into: Sequence[str]) -> tuple[InboundRecord, ...]:
        return await self._bodies(
            InboundRecord,
            """WITH RECURSIVE carriers (id) AS (
                SELECT unnest($1::text[])
                UNION SELECT i.id FROM inbound i JOIN carriers c ON i.body::jsonb ->> 'merged_into' = c.id
            ) SELECT body FROM inbound WHERE state = 'merged' AND id IN (SELECT id FROM carriers) ORDER BY seq""",
            list(into),
        )

    async def insert_inbound(self, record: InboundRecord) -> None:
        message = record.inbound
        await self._sql.execute(
            "INSERT INTO inbound (id, key, external_id, state, body) VALUES ($1, $2, $3, $4, $5)",
            message.id,
            key_text(message.key),
            message.source.external_id,
            record.state,
            encode(record),
        )

    async def owed(self, requester: SessionKey) -> tuple[Any, ...]:
        return ()

    async def working_below(self, key: SessionKey) -> tuple[SessionKey, ...]:
        return ()

    async def active_runs(self, key: SessionKey) -> tuple[Run, ...]:
        return await self._bodies(
            Run,
            "SELECT body FROM runs WHERE key = $1 AND state IN ('queued', 'running') ORDER BY seq",
            key_text(key),
        )

    async def running_runs(self) -> tuple[Run, ...]:
        return await self._bodies(Run, "SELECT body FROM runs WHERE state = 'running' ORDER BY seq")

    async def ready_runs(self, now: int, per_asker: int, limit: int) -> tuple[Run, ...]:
        # The session row is what is locked and skipped: locking run rows would let two claimers start two runs
        # of one session. Its runs are read after the lock, so a run that has just started is seen.
        keys = await self._sql.fetch(
            "SELECT key FROM sessions s WHERE EXISTS (SELECT 1 FROM runs r WHERE r.key = s.key AND r.state = 'queued')"
            " LIMIT $1 FOR UPDATE SKIP LOCKED",
            limit,
        )
        return await self._bodies(
            Run,
            "SELECT DISTINCT ON (q.key) q.body FROM runs q WHERE q.key = ANY($1) AND q.state = 'queued' AND NOT EXISTS"
            " (SELECT 1 FROM runs r WHERE r.key = q.key AND r.state = 'running') ORDER BY q.key, q.seq",
            [row["key"] for row in keys],
        )

    async def still_ready(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        return tuple(runs)

    async def insert_run(self, run: Run) -> None:
        await self._sql.execute(
            "INSERT INTO runs (id, key, state, body) VALUES ($1, $2, $3, $4)",
            run.id,
            key_text(run.key),
            run.state,
            encode(run),
        )

    async def update_run(self, run: Run) -> None:
        await self._sql.execute(
            "UPDATE runs SET state = $2, body = $3 WHERE id = $1", run.id, run.state, encode(run)
        )

    async def run(self, run_id: str) -> Run | None:
        return await self._body(Run, "SELECT body FROM runs WHERE id = $1", run_id)

    async def lock_balances(self, names: Sequence[str]) -> dict[str, Balance]:
        # Created and locked in one order by everyone: no two wait for each other.
        await self._sql.executemany(
            "INSERT INTO budgets VALUES ($1, 0, 0, 0, -1) ON CONFLICT DO NOTHING", [(name,) for name in names]
        )
        lock = "SELECT since, spent, held, warned FROM budgets WHERE name = $1 FOR UPDATE"
        return {name: Balance(**dict(await self._sql.fetchrow(lock, name))) for name in names}

    async def put_balance(self, name: str, now: Balance) -> None:
        await self._sql.execute(
            "UPDATE budgets SET since = $2, spent = $3, held = $4, warned = $5 WHERE name = $1",
            *(name, now.since, now.spent, now.held, now.warned),
        )

    async def reservation(self, call_id: str) -> Reservation | None:
        return await self._body(Reservation, "SELECT body FROM reservations WHERE id = $1", call_id)

    async def insert_reservation(self, reservation: Reservation) -> None:
        row = reservation.row
        await self._sql.execute(
            "INSERT INTO reservations VALUES ($1, $2, $3)", row.id, row.run_id, encode(reservation)
        )

    async def delete_reservation(self, call_id: str) -> None:
        await self._sql.execute("DELETE FROM reservations WHERE id = $1", call_id)

    async def put_usage(self, row: LedgerRow) -> None:
        await self._sql.execute(
            "INSERT INTO ledger VALUES ($1, $2) ON CONFLICT DO NOTHING", row.id, encode(row)
        )

    async def insert_events(self, events: Sequence[Event]) -> None:
        await self._sql.executemany(
            "INSERT INTO events (key, number, ref) VALUES ($1, $2, $3)",
            [(key_text(event.key), event.number, event.ref) for event in events],
        )


class SpikeStore(StoreVerbs):
    """Roost's verbs on a pool of connections: one gateway."""

    exclusive = False

    def __init__(self, pool: asyncpg.Pool) -> None:
        super().__init__()
        self._pool = pool
        self.unflushed: set[str] = set()

    async def _write(self, verb: Any) -> Any:
        async with self._pool.acquire() as connection, connection.transaction():
            unit = Unit(SpikeTables(connection), SystemClock(), {}, Seals({}))  # type: ignore[arg-type]
            answer = await verb(unit)
            await unit.flush()
        self.unflushed |= {topic.kind for topic in unit.waking.topics}
        return answer

    async def _read(self, verb: Any) -> Any:
        async with self._pool.acquire() as connection, connection.transaction(readonly=True):
            return await verb(SpikeTables(connection))

    async def flush_notices(self) -> None:
        """One NOTIFY for everything committed since the last one, with kinds only."""
        if self.unflushed:
            kinds, self.unflushed = ",".join(sorted(self.unflushed)), set()
            await self._pool.execute("SELECT pg_notify('roost_spike', $1)", kinds)


def say(line: str) -> None:
    sys.stdout.write(f"proved: {line}\n")


async def prove_row_lock(stores: list[SpikeStore]) -> None:
    """Many callers decide on one session at once; each sees what the one before it wrote."""
    key, count, seen = SessionKey.named("main", "crowded"), 90, []

    def decide(snapshot: Snapshot, message: Inbound, number: int) -> Any:
        seen.append(len(snapshot.queued))
        return accept(message, f"run-{number}", "crowded-1")(snapshot)

    async def one(number: int) -> None:
        message = inbound(f"in-{number}", key, source=Source(channel="x", external_id=f"ext-{number // 2}"))
        await stores[number % len(stores)].accept_inbound(
            message, partial(decide, message=message, number=number)
        )

    await asyncio.gather(*(one(number) for number in range(count)))
    assert seen == sorted(seen), "a decision did not see the one before it"
    assert len(seen) == count // 2, "a redelivered message was decided twice"
    say(
        f"{count} messages from {len(stores)} gateways on one session: {len(seen)} decisions in order, no duplicate"
    )


async def prove_event_numbers(pool: asyncpg.Pool) -> None:
    rows = await pool.fetch("SELECT key, number, committed FROM events ORDER BY key, number")
    per_key: dict[str, list[Any]] = {}
    for row in rows:
        per_key.setdefault(row["key"], []).append(row)
    for numbers in per_key.values():
        assert [row["number"] for row in numbers] == list(range(1, len(numbers) + 1)), (
            "a gap in event numbers"
        )
    say(f"{len(rows)} events of {len(per_key)} sessions numbered from 1 without a gap")


async def prove_claims(stores: list[SpikeStore]) -> list[Run]:
    """Several gateways claim at once: every run once, one a session at a time."""
    keys = [SessionKey.named("main", f"busy-{number}") for number in range(20)]
    for key in keys:
        await stores[0].change_session(key, lambda _, key=key: (opening(session(key), f"id-{key.name}"),))
        for number in range(3):
            message = inbound(f"{key.name}-{number}", key)
            await stores[0].accept_inbound(message, accept(message, f"{key.name}-run-{number}", ""))
    leases = [
        await store.acquire_lease(Gateway(name=f"g{n}", holder=str(n))) for n, store in enumerate(stores)
    ]
    pick: Callable[..., Any] = partial(choose, limits=Limits(ceiling=8))
    claimed: list[Run] = []

    async def claimer(store: SpikeStore, lease: Lease) -> None:
        # One that finds every row locked by another gets nothing, and looks again.
        for _ in range(300):
            claimed.extend(await store.claim_runs(lease, pick))
            if len(claimed) > len(keys):
                break

    await asyncio.gather(*(claimer(store, lease) for store, lease in zip(stores, leases, strict=True)))
    ids, busy = [run.id for run in claimed], [run.key for run in claimed]
    assert len(ids) == len(set(ids)), "a run was claimed twice"
    assert len(busy) == len(set(busy)), "two runs of one session were started"
    assert all(run.state is RunState.RUNNING and run.claim for run in claimed)
    assert {key for key in busy if key.name.startswith("busy")} == set(keys), "a session was passed over"
    say(f"{len(stores)} gateways claimed {len(claimed)} runs with SKIP LOCKED: each once, one a session")
    return claimed


async def prove_budgets(stores: list[SpikeStore], runs: list[Run], pool: asyncpg.Pool) -> None:
    """Many runs ask for the same means at once, each for some of several accounts, named in any order."""
    hard, most, cost, rounds = 1_000, 30, 7, 6
    outcomes: list[bool] = []

    def rule(run: Run, found: Balances) -> Granted:
        if any(one.spent + one.held + most > hard for one in found.values()):
            raise Conflict("there are no means")
        name = f"{run.id} {len(outcomes)} {secrets.token_hex(4)}"
        row = LedgerRow(id=name, at=0, key=run.key, session_id="", principal=run.cause.principal, run_id=run.id,
            run_kind=RunKind.TURN, provider="", model="", usage=Usage(input=most), estimated=True)  # fmt: skip
        holds = tuple(Hold(name=one, measure=Measure.TOKENS, amount=most, since=0) for one in found)
        after = {one: replace(balance, held=balance.held + most) for one, balance in found.items()}
        calls[run.id] = row
        return Granted(reservation=Reservation(row=row, holds=holds), balances=after)

    async def spend(store: SpikeStore, run: Run, number: int) -> None:
        for _ in range(rounds):
            names = ("all", f"agent {number % 3}", f"person {number % 5}")
            try:
                await store.reserve(run.claim, names[:: 1 if number % 2 else -1], rule)
            except Conflict:
                outcomes.append(False)
                continue
            await store.record_usage(replace(calls[run.id], usage=Usage(input=cost)))
            outcomes.append(True)

    calls: dict[str, LedgerRow] = {}
    await asyncio.gather(*(spend(stores[n % len(stores)], run, n) for n, run in enumerate(runs)))
    spent, held = await pool.fetchrow("SELECT spent, held FROM budgets WHERE name = 'all'")
    assert (spent, held) == (cost * sum(outcomes), 0), "a call was lost or counted twice"
    assert spent <= hard, "the limit was passed"
    assert await pool.fetchval("SELECT count(*) FROM ledger") == sum(outcomes)
    say(
        f"{len(outcomes)} calls on shared budgets, {sum(outcomes)} of them made: no deadlock, {spent} of {hard} spent"
    )


async def prove_notify(stores: list[SpikeStore], dsn: str) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    listener = await asyncpg.connect(dsn, server_settings={"search_path": "roost_spike"})
    await listener.add_listener("roost_spike", lambda *news: heard.put_nowait(news[-1]))
    for store in stores:
        store.unflushed.clear()
    for number in range(10):
        message = inbound(f"late-{number}", SessionKey.named("main", "late"))
        await stores[0].accept_inbound(message, accept(message, f"late-{number}", "late-1"))
    await stores[0].flush_notices()
    news = await asyncio.wait_for(heard.get(), 60)
    assert heard.empty(), "more than one notification for a batch"
    await listener.close()
    say(f"10 commits, one NOTIFY, heard by another connection: {news}")


async def main(dsn: str) -> None:
    setup = await asyncpg.connect(dsn)
    await setup.execute(SCHEMA)
    try:
        async with pools(dsn, gateways=3) as opened:
            stores = [SpikeStore(pool) for pool in opened]
            await prove_row_lock(stores)
            await prove_budgets(stores, await prove_claims(stores), opened[0])
            await prove_notify(stores, dsn)
            await prove_event_numbers(opened[0])
    finally:
        await setup.execute("DROP SCHEMA roost_spike CASCADE")
        await setup.close()


@asynccontextmanager
async def pools(dsn: str, gateways: int) -> Any:
    opened = [
        await asyncpg.create_pool(dsn, min_size=2, max_size=8, server_settings={"search_path": "roost_spike"})
        for _ in range(gateways)
    ]
    try:
        yield opened
    finally:
        for pool in opened:
            await pool.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
