import asyncio

import anyio
import asyncpg
import pytest

from roost.core.errors import Conflict, StoreUnavailable, WriteUnknown
from roost.core.leases import Gateway
from roost.stores.postgres import PostgresStore
from roost.stores.postgres.connection import PostgresOptions, open_pool
from roost.stores.postgres.rows import Connection
from roost.stores.postgres.transactions import PAUSES, Again, Transactions
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests import postgres
from tests.contract.scenes import everything, known, opened, queued
from tests.parts import NeedPart
from tests.postgres_line import Cut, line_to


@pytest.mark.parametrize("cut", Cut)
async def test_a_line_that_is_cut_at_the_end_of_a_transaction_leaves_it_done_once(
    postgres_server: str, cut: Cut
) -> None:
    await postgres.empty(postgres_server)
    async with line_to(postgres_server) as (address, line):
        store = await PostgresStore.open(address, FakeClock())
        await opened(store)
        line.cut_at_commit(cut)
        (entry,) = await store.append(MAIN, (builders.said("e-1", "once"),))
        assert line.cuts == 1
        assert await store.entries(entry.session_id) == (entry,)
        assert (await known(store)).summary.entries == 1
        await store.close()


@pytest.mark.requirement("P3", "P30")
async def test_what_a_crash_of_the_server_took_is_done_again_though_another_has_its_number(
    need_part: NeedPart,
) -> None:
    programs = postgres.binaries()
    need_part("PostgreSQL", present=programs is not None, remedy=postgres.REMEDY)
    assert programs is not None
    with postgres.running(programs) as server:
        async with line_to(server.address) as (address, line):
            store = await PostgresStore.open(address, FakeClock())
            await opened(store)
            line.hold_at_commit()
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(store.append(MAIN, (builders.said("e-1", "not lost"),)))
                await line.held.wait()
                await asyncio.to_thread(server.restart)
                others = await asyncpg.connect(server.address)
                for _ in range(100):
                    await others.execute("SELECT pg_current_xact_id()")
                await others.close()
                line.let_through()
            (entry,) = writing.result()
            assert await store.entries(entry.session_id) == (entry,)
            assert (await known(store)).summary.entries == 1
            await store.close()


async def test_places_of_gateways_that_are_long_gone_are_forgotten(
    postgres_server: str, bare: Connection
) -> None:
    await postgres.empty(postgres_server)
    places = []
    for name in ("one", "two"):
        store = await PostgresStore.open(postgres_server, FakeClock())
        await store.acquire_lease(Gateway(name=name, holder=name))
        await store.close()
        places += [str(row[0]) for row in await bare.fetch("SELECT place FROM roost.marks")]
        await bare.execute("UPDATE roost.marks SET at = at - interval '31 days'")
    assert len(places) == len(set(places)) == 2


async def test_who_cannot_be_told_what_was_written_is_told_so(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    async with line_to(postgres_server) as (address, line):
        store = await PostgresStore.open(address, FakeClock())
        await opened(store)
        line.dead_after_cut = True
        line.cut_at_commit(Cut.AFTER)
        with pytest.raises(WriteUnknown, match="cannot say what was written"):
            await store.append(MAIN, (builders.said("e-1", "perhaps"),))
        line.dead_after_cut = False
        assert (await known(store)).summary.entries in (0, 1)
        await store.close()


async def test_what_was_claimed_when_the_line_was_cut_can_be_claimed_again(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    async with line_to(postgres_server) as (address, line):
        store = await PostgresStore.open(address, FakeClock())
        lease = await store.acquire_lease(Gateway(name="here", holder="here"))
        await opened(store)
        await queued(store, "r-1")
        line.dead_after_cut = True
        line.cut_at_commit(Cut.AFTER)
        with pytest.raises(WriteUnknown):
            await store.claim_runs(lease, everything)
        line.dead_after_cut = False
        await store.unclaim_runs(lease, ())
        (run,) = await store.claim_runs(lease, everything)
        assert run.id == "r-1"
        await store.close()


async def test_a_line_that_is_lost_in_the_middle_is_made_anew(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    async with line_to(postgres_server) as (address, line):
        store = await PostgresStore.open(address, FakeClock())
        await opened(store)
        for number in range(3):
            line.hang_up()
            await store.append(MAIN, (builders.said(f"e-{number}", "words"),))
        assert (await known(store)).summary.entries == 3
        await store.close()


async def test_two_that_stand_in_each_others_way_both_come_to_an_end(postgres_server: str) -> None:
    options = PostgresOptions()
    transactions = Transactions(await open_pool(postgres_server, options, 2), options, "here")
    first, second = asyncio.Event(), asyncio.Event()
    tries = []

    async def lock(
        connection: Connection, names: tuple[str, str], mine: asyncio.Event, other: asyncio.Event
    ) -> None:
        tries.append(names)
        one, two = names
        await connection.fetchval("SELECT pg_advisory_xact_lock(ascii($1))", one)
        mine.set()
        await other.wait()
        await connection.fetchval("SELECT pg_advisory_xact_lock(ascii($1))", two)

    async with asyncio.timeout(30):
        await asyncio.gather(
            transactions.write(lambda connection: lock(connection, ("a", "b"), first, second)),
            transactions.write(lambda connection: lock(connection, ("b", "a"), second, first)),
        )
    assert len(tries) == 3
    await transactions.close()


async def test_what_is_cancelled_in_the_middle_is_undone_and_the_connection_used_again(
    postgres_server: str,
) -> None:
    options = PostgresOptions()
    transactions = Transactions(await open_pool(postgres_server, options, 1), options, "here")
    begun = asyncio.Event()

    async def linger(connection: Connection) -> None:
        begun.set()
        await connection.execute("SELECT pg_sleep(30)")

    async with anyio.create_task_group() as group:
        group.start_soon(transactions.write, linger)
        await begun.wait()
        group.cancel_scope.cancel()

    async def ask(connection: Connection) -> int:
        return int(await connection.fetchval("SELECT 7"))

    assert await transactions.read(ask) == 7
    await transactions.close()


async def test_a_conflict_that_was_met_at_once_is_looked_at_twice(postgres_server: str) -> None:
    options = PostgresOptions()
    transactions = Transactions(await open_pool(postgres_server, options, 1), options, "here")
    tries = []

    async def meet(connection: Connection) -> None:
        tries.append(1)
        cause = asyncpg.UniqueViolationError("x")
        cause.constraint_name = "inbound_external"
        try:
            raise cause
        except asyncpg.UniqueViolationError:
            raise Conflict("taken") from None

    with pytest.raises(Conflict):
        await transactions.write(meet)
    assert len(tries) == 2
    await transactions.close()


async def test_a_server_that_stays_away_is_told_as_unavailable(postgres_server: str) -> None:
    """Not for ever: whoever asked can do something else meanwhile."""
    assert sum(PAUSES) < 5
    async with line_to(postgres_server) as (address, _):
        store = await PostgresStore.open(address, FakeClock())
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await store.session(MAIN)
    await store.close()


def test_what_is_done_again_says_why() -> None:
    assert "lost" in str(Again(OSError("lost")))


async def test_a_connection_that_heard_what_nobody_asked_for_is_taken_for_lost(postgres_server: str) -> None:
    options, attempts = PostgresOptions(), list[int]()
    transactions = Transactions(await open_pool(postgres_server, options, 1), options, "the server")

    async def body(connection: Connection) -> int:
        attempts.append(len(attempts))
        if len(attempts) == 1:
            raise asyncpg.InternalClientError(
                "cannot switch to state 12; another operation (2) is in progress"
            )
        return int(await connection.fetchval("SELECT 7"))

    assert await transactions.write(body) == 7
    assert attempts == [0, 1]
    await transactions.close()
