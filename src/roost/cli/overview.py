"""`roost` by itself: what is configured and what is stored. There is no gateway to start yet."""

import sys

import anyio

from roost import __version__
from roost.app import database_file, open_store
from roost.config import Loaded, from_environment
from roost.core.errors import RoostError
from roost.core.queries import SessionQuery

SHOWN = 200


def main() -> int:
    """Read the configuration, open the store, say what was found; 1 if either is refused."""
    try:
        loaded = from_environment().read()
        sys.stdout.write(anyio.run(_overview, loaded))
    except RoostError as error:
        sys.stderr.write(f"roost: {error}\n")
        return 1
    return 0


async def _overview(loaded: Loaded) -> str:
    sources = loaded.sources
    async with open_store(loaded) as store:
        page = await store.list_sessions(SessionQuery(limit=SHOWN))
        faults = await store.check()
    lines = [
        f"Roost {__version__}",
        f"configuration  {sources.file}{'' if sources.exists else ' (not there: defaults)'}",
        f"store          {database_file(sources.home)}, {f'{len(faults)} faults' if faults else 'sound'}",
        f"sessions       {len(page.rows)}{' or more' if page.more else ''}",
        *(f"warning        {warning}" for warning in loaded.warnings),
        *(f"fault          {fault}" for fault in faults),
        "There is no gateway to start yet.",
    ]
    return "\n".join(lines) + "\n"
