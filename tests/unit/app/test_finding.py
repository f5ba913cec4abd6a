"""Where a gateway is found by its lease."""

from pathlib import Path

import anyio

from roost.app.finding import serving_addresses
from roost.app.opening import open_store
from roost.config import load
from roost.core.leases import Gateway
from roost.testing.clock import FakeClock
from tests import postgres


async def test_a_gateway_is_found_while_its_lease_lives(tmp_path: Path) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path)})
    assert await serving_addresses(loaded) == ()
    assert not any([found async for found in anyio.Path(tmp_path).iterdir()])
    async with open_store(loaded) as store:
        lease = await store.acquire_lease(Gateway(name="g", holder="h", address="ws://127.0.0.1:7"))
        assert await serving_addresses(loaded) == ("ws://127.0.0.1:7",)
        await store.release_lease(lease)
        assert await serving_addresses(loaded) == ()
        await store.acquire_lease(Gateway(name="embedded", holder="h"))
        assert await serving_addresses(loaded) == ()


async def test_whether_a_lease_lives_is_said_by_the_store_whatever_the_clock_here_says(
    tmp_path: Path, postgres_server: str
) -> None:
    await postgres.empty(postgres_server)
    loaded = load({"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": postgres_server})
    late = FakeClock()
    late.advance(100 * 365 * 86_400_000)
    async with open_store(loaded) as store:
        await store.acquire_lease(Gateway(name="g", holder="h", address="ws://127.0.0.1:7"))
        await store.acquire_lease(Gateway(name="h", holder="h", address="ws://127.0.0.1:8"))
        assert await serving_addresses(loaded, late) == ("ws://127.0.0.1:7", "ws://127.0.0.1:8")
