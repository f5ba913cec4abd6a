"""Where the gateway of this configuration listens, if it is not where the configuration says."""

from roost.app.opening import open_store
from roost.app.places import database_file
from roost.config import Loaded
from roost.ports import Clock


async def serving_addresses(loaded: Loaded, clock: Clock | None = None) -> tuple[str, ...]:
    """The addresses that gateways with a live lease on the store gave; the store says which those are."""
    if loaded.settings.database is None and not database_file(loaded.sources.home).exists():
        return ()
    async with open_store(loaded, clock) as store:
        fleet = await store.fleet()
    return tuple(lease.gateway.address for lease in fleet.live if lease.gateway.address)
