"""`roost repair`: make anew what follows from other rows, and say what was wrong."""

import os

from roost.app.opening import open_held_store
from roost.cli.here import LOCAL, Local
from roost.cli.show import as_json, say
from roost.core.leases import Gateway


async def repair(*, here: Local = LOCAL) -> int:
    """Mend the store while no gateway runs; 1 if something is left that only a backup can mend."""
    process = os.getpid()
    async with open_held_store(
        here.loaded(), Gateway(name=f"repair-{process}", holder=f"process {process}")
    ) as store:
        mended = await store.repair()
        left = await store.check()
    if here.json:
        as_json({"mended": mended, "left": left})
        return 1 if left else 0
    lines = [*(f"mended  {fault}" for fault in mended), *(f"left    {fault}" for fault in left)]
    say("\n".join(lines or ["Nothing is wrong with the store."]))
    return 1 if left else 0
