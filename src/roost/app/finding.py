"""What the store of a configuration tells without a gateway: where its gateways listen, and who else is let in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from roost.app.opening import open_store
from roost.app.places import database_file
from roost.config import Loaded
from roost.core.guests import NOBODY, Guests
from roost.ports import Clock, Store


async def serving_addresses(loaded: Loaded, clock: Clock | None = None) -> tuple[str, ...]:
    """The addresses that gateways with a live lease on the store gave; the store says which those are."""
    async with _store(loaded, clock) as store:
        return () if store is None else await _addresses(store)


async def serving_and_guests(loaded: Loaded) -> tuple[tuple[str, ...], Guests]:
    """The same, and who was let in by pairing."""
    async with _store(loaded) as store:
        return ((), NOBODY) if store is None else (await _addresses(store), await store.guests())


async def _addresses(store: Store) -> tuple[str, ...]:
    fleet = await store.fleet()
    return tuple(lease.gateway.address for lease in fleet.live if lease.gateway.address)


@asynccontextmanager
async def _store(loaded: Loaded, clock: Clock | None = None) -> AsyncIterator[Store | None]:
    """None where there is none yet."""
    if loaded.settings.database is None and not database_file(loaded.sources.home).exists():
        yield None
        return
    async with open_store(loaded, clock) as store:
        yield store
