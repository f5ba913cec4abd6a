"""A lease that is kept while it is needed."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import anyio

from roost.core.errors import Fenced, LeaseHeld, StoreUnavailable
from roost.core.leases import RENEW_MS, Gateway, Lease
from roost.ports import Clock, Store


async def renew(
    store: Store, clock: Clock, lease: Lease, config_hash: Callable[[], str], renewed: Callable[[int], None]
) -> None:
    """Renew it, at once and again, until cancelled or it is lost; others see by which configuration its holder goes.
    `renewed` hears from when on it is held for another term."""
    while True:
        current = replace(lease, gateway=replace(lease.gateway, config_hash=config_hash()))
        asked_at = clock.now()
        lease = await store.renew_lease(current)
        renewed(asked_at)
        await clock.sleep(RENEW_MS)


async def regained(store: Store, lost: Lease, gateway: Gateway) -> Lease:
    """A new lease for who lost the old one by itself: it stood still, or could not reach the store, for longer than that
    was held. Who lost it to another is told so."""
    held = {one.gateway.name: one.epoch for one in await store.gateways()}
    if held.get(gateway.name, lost.epoch) != lost.epoch:
        raise Fenced(
            f"gateway {gateway.name} lost the store: another one has its name", hint="look who serves now"
        )
    try:
        return await store.acquire_lease(gateway)
    except LeaseHeld as error:
        raise Fenced(
            f"gateway {gateway.name} lost the store: it was taken over. {error.message}",
            hint="look who serves now; start this one again when it may",
        ) from error


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
            group.start_soon(
                renew, store, clock, lease, lambda: gateway.config_hash, lambda at: None, name="lease"
            )
            yield lease
            group.cancel_scope.cancel()
    finally:
        await release(store, lease)
