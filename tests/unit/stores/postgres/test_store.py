from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import asyncpg
import pytest

from roost.core.deliveries import DeliveryState
from roost.core.errors import Fenced, InvalidInput, StoreUnavailable
from roost.core.leases import LEASE_MS, Gateway
from roost.core.principals import OWNER
from roost.core.queries import LedgerQuery, SearchQuery, SessionQuery
from roost.core.runs import Step, StepKind
from roost.core.search import parse_query
from roost.stores.postgres import PostgresStore
from roost.stores.postgres.rows import Connection
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN, said
from roost.testing.clock import FakeClock
from tests import postgres
from tests.contract.scenes import known_run, opened
from tests.postgres_line import line_to


async def test_a_user_without_rights_is_told_what_to_grant(postgres_server: str, bare: Connection) -> None:
    await bare.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    address = postgres_server.replace("roost@", "guest@")
    with pytest.raises(StoreUnavailable, match="GRANT CREATE"):
        await PostgresStore.open(f"{address}&schema=theirs", FakeClock())


async def test_a_database_that_is_not_there_is_told(postgres_server: str) -> None:
    with pytest.raises(StoreUnavailable, match="nowhere"):
        await PostgresStore.open(postgres_server.replace("/postgres?", "/nowhere?"), FakeClock())


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("connect_timeout=3", r'"connect_timeout".*an address takes schema, connections, pooler, sslmode'),
        ("foo=1", r'"foo".*an address takes schema'),
        ("statement_timeout=soon", r'"statement_timeout".*an address takes schema'),
        ("shared_buffers=1", r'"shared_buffers".*an address takes schema'),
        ("sslmode=bogus", "`sslmode` parameter must be one of: disable, allow,"),
        (
            "sslmode=verify-full&sslrootcert=/nowhere/root.crt",
            r"/nowhere/root\.crt \(`sslrootcert`\).*cannot be read",
        ),
        ("sslmode=prefer&sslnegotiation=direct", "direct TLS requires sslmode=require"),
        ("target_session_attrs=fast", "`target_session_attrs`.*'fast'.*any, primary, standby"),
    ],
)
async def test_a_parameter_that_an_address_does_not_take_is_named_with_those_it_does(
    postgres_server: str, query: str, told: str
) -> None:
    with pytest.raises(InvalidInput, match=told) as refused:
        await PostgresStore.open(f"{postgres_server}&{query}", FakeClock())
    assert "\n" not in str(refused.value)


async def test_a_setting_of_the_server_may_be_given(postgres_server: str) -> None:
    store = await PostgresStore.open(f"{postgres_server}&statement_timeout=60000", FakeClock())
    await store.close()


async def test_a_lease_is_renewed_although_every_connection_is_busy(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    store = await PostgresStore.open(f"{postgres_server}&connections=1", FakeClock())
    lease = await store.acquire_lease(Gateway(name="here", holder="1"))

    async def busy(connection: Connection) -> None:
        renewed = await store.renew_lease(lease)
        assert renewed.epoch == lease.epoch

    await store._work.read(busy)
    await store.close()


@pytest.mark.requirement("P30")
@pytest.mark.parametrize("how", ["", "&pooler=true"])
async def test_what_a_gateway_holds_that_stands_still_in_the_middle_of_asking_is_let_go_of(
    postgres_server: str, how: str
) -> None:
    await postgres.empty(postgres_server)
    here, there = [await PostgresStore.open(f"{postgres_server}{how}", FakeClock()) for _ in range(2)]
    await opened(here)
    lease = await there.acquire_lease(Gateway(name="there", holder="1"))
    held, woken, tries = anyio.Event(), anyio.Event(), 0

    async def stand_still(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        await connection.execute("SELECT 1 FROM sessions FOR UPDATE")
        # The server has heard what will be asked, and waits for the rest of the question.
        asked = await connection.prepare("SELECT count(*) FROM sessions")
        held.set()
        await woken.wait()
        await asked.fetchval()

    async def renew() -> None:
        while True:
            await there.renew_lease(lease)

    async with anyio.create_task_group() as group:
        group.start_soon(here._work.write, stand_still)
        await held.wait()
        with anyio.fail_after(60):
            async with anyio.create_task_group() as others:
                others.start_soon(renew)
                await there.append(MAIN, (said("e-1", "zebra"),))
                others.cancel_scope.cancel()
        woken.set()
    assert tries == 2
    for store in (here, there):
        await store.close()


@pytest.mark.requirement("P30")
async def test_a_gateway_comes_and_goes_while_another_stands_still_under_its_lease(
    postgres_server: str, bare: Connection
) -> None:
    await postgres.empty(postgres_server)
    store = await PostgresStore.open(postgres_server, FakeClock())
    await store.acquire_lease(Gateway(name="still", holder="1"))
    other = await store.acquire_lease(Gateway(name="other", holder="2"))
    await bare.execute("BEGIN; SELECT 1 FROM roost.gateways WHERE name = 'still' FOR SHARE")
    fresh = await store.acquire_lease(Gateway(name="fresh", holder="3"))
    assert (await store.renew_lease(other)).epoch == other.epoch
    await store.release_lease(fresh)
    await bare.execute("ROLLBACK")
    await store.close()


@pytest.mark.requirement("P30")
async def test_a_claim_holds_while_its_lease_is_renewed_at_the_last_moment(
    postgres_server: str, bare: Connection
) -> None:
    await postgres.empty(postgres_server)
    clock = FakeClock()
    store = await PostgresStore.open(postgres_server, clock, database_clock=clock)
    lease = await store.acquire_lease(Gateway(name="here", holder="1"))
    message = builders.inbound("m-1", MAIN)
    await store.accept_inbound(message, builders.accept(message, "r-1", "s-1"))
    (run,) = await store.claim_runs(lease, lambda backlog: ("r-1",))
    assert run.claim is not None
    await bare.execute(f"BEGIN; UPDATE roost.gateways SET expires_at = {clock.now() + 2 * LEASE_MS}")
    clock.advance(LEASE_MS + 1)
    async with anyio.create_task_group() as group:
        group.start_soon(store.begin_step, run.claim, Step(kind=StepKind.MODEL, at=clock.now()))
        with anyio.fail_after(60):
            # It waits for who renews the lease.
            while not await bare.fetchval("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)"):
                await anyio.lowlevel.checkpoint()
        await bare.execute("COMMIT")
    assert (await known_run(store, "r-1")).progress.model_calls == 1
    clock.advance(LEASE_MS)
    with pytest.raises(Fenced):
        await store.renew_lease(lease)
    with pytest.raises(Fenced):
        await store.begin_step(run.claim, Step(kind=StepKind.MODEL, at=clock.now()))
    await store.close()


async def test_what_was_claimed_unheard_is_looked_for_when_the_claim_is_over(
    postgres_server: str, bare: Connection
) -> None:
    await postgres.empty(postgres_server)
    store = await PostgresStore.open(postgres_server, FakeClock())
    lease = await store.acquire_lease(Gateway(name="here", holder="1"))
    # Somebody claims under the lease, and has not come to an end.
    await bare.execute("BEGIN; SELECT 1 FROM roost.gateways WHERE name = 'here' FOR SHARE")
    async with anyio.create_task_group() as group:
        group.start_soon(store.unclaim_runs, lease, ())
        with anyio.fail_after(60):
            while not await bare.fetchval("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)"):
                await anyio.lowlevel.checkpoint()
        await bare.execute("COMMIT")
    await store.close()


async def test_what_can_be_made_anew_is(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    store = await PostgresStore.open(postgres_server, FakeClock())
    await opened(store)
    await store.append(MAIN, (said("e-1", "zebra"),))
    connection = await asyncpg.connect(postgres_server)
    await connection.execute("DELETE FROM roost.entry_search")
    await connection.close()
    assert len(await store.check()) == 1
    assert len(await store.repair()) == 1
    assert await store.check() == ()
    await store.close()


LOOKS: dict[str, Callable[[PostgresStore], Awaitable[object]]] = {
    "session": lambda store: store.session(MAIN),
    "session_by_id": lambda store: store.session_by_id("s"),
    "ancestors": lambda store: store.ancestors(MAIN),
    "participants": lambda store: store.participants(MAIN),
    "generations": lambda store: store.generations(MAIN),
    "list_sessions": lambda store: store.list_sessions(SessionQuery()),
    "glances": lambda store: store.glances(SessionQuery()),
    "thread_binding": lambda store: store.thread_binding(CHAT),
    "entries": lambda store: store.entries(f"{MAIN}-1"),
    "search": lambda store: store.search(SearchQuery(query=parse_query("zebra"), limit=5)),
    "inbound": lambda store: store.inbound("m-1"),
    "inbound_by_key": lambda store: store.inbound_by_key(OWNER, MAIN, "k"),
    "pending_inputs": lambda store: store.pending_inputs(MAIN),
    "run": lambda store: store.run("r-1"),
    "active_runs": lambda store: store.active_runs(MAIN),
    "exchange": lambda store: store.exchange("e-1"),
    "exchanges": lambda store: store.exchanges(MAIN, MAIN),
    "completions": lambda store: store.completions(MAIN),
    "delivery": lambda store: store.delivery("d-1"),
    "deliveries": lambda store: store.deliveries(DeliveryState.INTENT, 5),
    "usage": lambda store: store.usage(LedgerQuery()),
    "denials": lambda store: store.denials(5),
    "events": lambda store: store.events(MAIN, after=0, limit=5),
}


async def test_reads_of_one_statement_need_one_round_trip(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    # Nobody else may ask anything on the line meanwhile.
    async with line_to(postgres_server) as (address, line):
        store = await PostgresStore.open(f"{address}&connections=1", FakeClock())
        await opened(store)
        await store.append(MAIN, (said("e-1", "zebra"),))
        await store._notices.close()
        taken: dict[str, int] = {}
        for name, look in LOOKS.items():
            await look(store)
            before = line.asked
            await look(store)
            taken[name] = line.asked - before
        assert taken == dict.fromkeys(LOOKS, 1)
        await store.close()


async def test_reads_of_several_statements_see_one_state_of_things(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    async with line_to(postgres_server) as (address, line):
        store = await PostgresStore.open(f"{address}&connections=1", FakeClock())
        await store._notices.close()
        await store.workload()
        before = line.asked
        await store.workload()
        # Begin, three statements, end.
        assert line.asked - before == 5
        await store.close()
