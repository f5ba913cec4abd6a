"""`roost repair`: make anew what follows from other rows, and say what was wrong."""

import os
import sys

from roost.app import open_held_store
from roost.config import Loaded
from roost.core.leases import Gateway


async def repair(loaded: Loaded) -> int:
    """1 if something is left that only a backup can mend."""
    process = os.getpid()
    async with open_held_store(
        loaded, Gateway(name=f"repair-{process}", holder=f"process {process}")
    ) as store:
        mended = await store.repair()
        left = await store.check()
    lines = [*(f"mended  {fault}" for fault in mended), *(f"left    {fault}" for fault in left)]
    sys.stdout.write("".join(f"{line}\n" for line in lines or ["Nothing is wrong with the store."]))
    return 1 if left else 0
