"""Where a gateway is found by its lease."""

from pathlib import Path

import anyio

from roost.app import open_store, serving_addresses
from roost.config import load
from roost.core.leases import Gateway


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
