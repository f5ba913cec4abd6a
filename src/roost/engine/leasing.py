"""A lease that is kept while it is needed."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import anyio

from roost.core.errors import StoreUnavailable
from roost.core.leases import RENEW_MS, Gateway, Lease
from roost.ports import Clock, Store


async def renew(store: Store, clock: Clock, lease: Lease, config_hash: Callable[[], str]) -> None:
    """Renew it, at once and again, until cancelled or it is lost; others see by which configuration its holder goes."""
    while True:
        current = replace(lease, gateway=replace(lease.gateway, config_hash=config_hash()))
        lease = await store.renew_lease(current)
        await clock.sleep(RENEW_MS)


async def release(store: Store, lease: Lease) -> None:
    """Let it go; one that cannot be let go runs out."""
    with anyio.CancelScope(shield=True), suppress(StoreUnavailable):
        await store.release_lease(lease)


@asynccontextmanager
async def holding(store: Store, clock: Clock, gateway: Gateway) -> AsyncIterator[Lease]:
    """The lease of a store, and nothing that works under it."""
    lease = await store.acquire_lease(gateway)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(renew, store, clock, lease, lambda: gateway.config_hash, name="lease")
            yield lease
            group.cancel_scope.cancel()
    finally:
        await release(store, lease)
