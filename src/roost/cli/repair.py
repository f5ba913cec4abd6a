"""`roost repair`: make anew what follows from other rows, and say what was wrong."""

import os

from roost.app.opening import open_held_store
from roost.cli.here import LOCAL, Local
from roost.cli.show import as_json, say
from roost.core.errors import LeaseHeld
from roost.core.fleet import Fleet
from roost.core.leases import LEASE_MS, Gateway


async def repair(*, here: Local = LOCAL) -> int:
    """Mend the store while no gateway runs; 1 if something is left that only a backup can mend."""
    process = os.getpid()
    own = Gateway(name=f"repair-{process}", holder=f"process {process}")
    async with open_held_store(here.to_write(), own, damaged=True) as store:
        _refuse_beside(await store.fleet(), own)
        mended = await store.repair()
        left = await store.check()
    if here.json:
        as_json({"mended": mended, "left": left})
        return 1 if left else 0
    lines = [*(f"mended  {fault}" for fault in mended), *(f"left    {fault}" for fault in left)]
    say("\n".join(lines or ["Nothing is wrong with the store."]))
    return 1 if left else 0


def _refuse_beside(fleet: Fleet, own: Gateway) -> None:
    """Several may hold a store on a server, and what they change meanwhile would be made anew as it was before."""
    others = [lease.gateway for lease in fleet.live if lease.gateway.name != own.name]
    if others:
        names = ", ".join(f"{one.name} ({one.holder})" for one in others)
        raise LeaseHeld(
            f"the store is in use by {names}",
            hint="stop the gateways among them with `roost gateway drain`, let commands come to their end, and start "
            f"nothing until this is done; the hold of one that was killed ends within {LEASE_MS // 1000} s",
        )
