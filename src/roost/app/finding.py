"""Where the gateway of this configuration listens, if it is not where the configuration says."""

from roost.app.opening import open_store
from roost.app.places import database_file
from roost.clock import SystemClock
from roost.config import Loaded


async def serving_addresses(loaded: Loaded) -> tuple[str, ...]:
    """The addresses that gateways with a live lease on the store gave."""
    if loaded.settings.database is None and not database_file(loaded.sources.home).exists():
        return ()
    clock = SystemClock()
    async with open_store(loaded, clock) as store:
        leases = await store.gateways()
    now = clock.now()
    return tuple(lease.gateway.address for lease in leases if lease.live(now) and lease.gateway.address)
