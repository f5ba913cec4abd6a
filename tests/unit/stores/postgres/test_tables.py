import asyncio
from functools import partial

import pytest

from roost.core.errors import StoreUnavailable
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.turntaking import Limits, choose
from roost.stores.postgres import PostgresStore
from roost.stores.postgres.rows import Connection
from roost.stores.postgres.tables import PostgresTables, WriterTables
from roost.stores.unit import Unit
from roost.testing.builders import MAIN, accept, inbound, session
from roost.testing.clock import NOON, FakeClock
from tests import postgres


async def test_without_another_clock_the_server_tells_the_time(connection: Connection) -> None:
    assert await PostgresTables(connection, "default", FakeClock()).database_now() == NOON
    now = await connection.fetchval("SELECT extract(epoch FROM now())")
    assert abs(await PostgresTables(connection, "default", None).database_now() - float(now) * 1_000) < 60_000


async def test_that_a_session_is_gone_is_remembered_for_a_while(connection: Connection) -> None:
    tables = WriterTables(connection, "default", FakeClock())
    keys = [SessionKey.named("main", name) for name in ("a", "b", "c")]
    for key in keys[:2]:
        await tables.insert_session(session(key))
        await tables.delete_session(key)
    await connection.execute("UPDATE gone SET at = at - interval '2 hours'")
    for key in keys[1:]:
        await tables.insert_session(session(key))
        await tables.delete_session(key)
    left = await connection.fetch("SELECT key FROM gone ORDER BY key")
    assert [row[0] for row in left] == [str(key) for key in keys[1:]]


async def test_a_run_whose_session_somebody_holds_is_passed_over(postgres_server: str) -> None:
    """It is not waited for: the others start meanwhile."""
    await postgres.empty(postgres_server)
    clock = FakeClock()
    one, other = [await PostgresStore.open(postgres_server, clock, database_clock=clock) for _ in range(2)]
    lease = await one.acquire_lease(Gateway(name="one", holder="1"))
    message = inbound("m-1")
    await one.accept_inbound(message, accept(message, "r-1", "s-1"))
    holding, done = asyncio.Event(), asyncio.Event()

    async def hold(unit: Unit) -> None:
        await unit.session(MAIN)
        holding.set()
        await done.wait()

    every = partial(choose, limits=Limits(ceiling=5))
    async with asyncio.TaskGroup() as group:
        group.create_task(other._write(hold))
        await holding.wait()
        assert await one.claim_runs(lease, every) == ()
        done.set()
    assert [run.id for run in await one.claim_runs(lease, every)] == ["r-1"]
    await one.close()
    await other.close()


async def test_two_who_open_one_session_at_once_wait_for_each_other(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    clock = FakeClock()
    stores = [await PostgresStore.open(postgres_server, clock, database_clock=clock) for _ in range(3)]
    messages = [inbound(f"m-{number}") for number in range(9)]
    await asyncio.gather(
        *(
            stores[number % 3].accept_inbound(message, accept(message, f"r-{number}", "s-1"))
            for number, message in enumerate(messages)
        )
    )
    session = await stores[0].session(MAIN)
    assert session is not None
    numbers = [event.number for event in await stores[0].events(MAIN, after=0, limit=100)]
    assert numbers == list(range(1, session.events + 1))
    assert len(await stores[0].active_runs(MAIN)) == 9
    for store in stores:
        await store.close()


async def test_a_store_that_is_closed_says_so(postgres_server: str) -> None:
    store = await PostgresStore.open(postgres_server, FakeClock())
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.session(MAIN)


async def test_an_account_is_empty_until_something_is_spent(tables: WriterTables) -> None:
    found = await tables.lock_balances(["a", "b"])
    assert {name: balance.spent for name, balance in found.items()} == {"a": 0, "b": 0}
