"""A gateway that waits until no other one owns the store."""

from collections.abc import Callable
from typing import TypeAlias

from roost.core.errors import LeaseHeld, RoostError, StoreUnavailable
from roost.core.leases import Gateway, Lease
from roost.ports import Clock, Store

LOOK_MS = 500

Tell: TypeAlias = Callable[[RoostError], None]


async def lease_when_free(store: Store, clock: Clock, gateway: Gateway, tell: Tell) -> Lease:
    """The lease, as soon as it can be had. `tell` hears why it cannot: once, and again when the reason changes."""
    told = ""
    while True:
        try:
            return await store.acquire_lease(gateway)
        except (LeaseHeld, StoreUnavailable) as error:
            # An owner that was stopped in the middle of a write holds the file as well.
            if str(error) != told:
                tell(error)
                told = str(error)
        await clock.sleep(LOOK_MS)
