import asyncpg
import pytest

from roost.core.errors import StoreUnavailable
from roost.core.leases import Gateway
from roost.stores.postgres import PostgresStore
from roost.stores.postgres.rows import Connection
from roost.testing.builders import MAIN, said
from roost.testing.clock import FakeClock
from tests import postgres
from tests.contract.scenes import opened


async def test_a_user_without_rights_is_told_what_to_grant(postgres_server: str, bare: Connection) -> None:
    await bare.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    address = postgres_server.replace("roost@", "guest@")
    with pytest.raises(StoreUnavailable, match="GRANT CREATE"):
        await PostgresStore.open(f"{address}&schema=theirs", FakeClock())


async def test_a_database_that_is_not_there_is_told(postgres_server: str) -> None:
    with pytest.raises(StoreUnavailable, match="nowhere"):
        await PostgresStore.open(postgres_server.replace("/postgres?", "/nowhere?"), FakeClock())


async def test_a_lease_is_renewed_although_every_connection_is_busy(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    store = await PostgresStore.open(f"{postgres_server}&connections=1", FakeClock())
    lease = await store.acquire_lease(Gateway(name="here", holder="1"))

    async def busy(connection: Connection) -> None:
        renewed = await store.renew_lease(lease)
        assert renewed.epoch == lease.epoch

    await store._work.read(busy)
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
