"""Whether all gateways of a store go by the same configuration."""

import logging
from collections.abc import Callable

from roost.core.fleet import SAME
from roost.core.leases import Lease
from roost.ports import Clock, Store

LOOK_MS = 3_000

_log = logging.getLogger(__name__)


async def compare(store: Store, clock: Clock, lease: Lease, tell: Callable[[str, str | None], None]) -> None:
    """Look again and again; `tell` hears which others differ, or that none does, when that changes."""
    told: str | None = None
    tell(SAME, None)
    while True:
        found = (await store.fleet()).disagreement(lease.gateway.name)
        if found != told:
            told = found
            tell(SAME, found)
            if found is not None:
                _log.warning("%s", found)
        await clock.sleep(LOOK_MS)
