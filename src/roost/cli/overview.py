"""What is configured and what is stored, in a few lines."""

from roost import __version__
from roost.app import database_file, open_store
from roost.config import Loaded
from roost.core.queries import SessionQuery

SHOWN = 200


async def overview(loaded: Loaded) -> str:
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
    ]
    return "\n".join(lines) + "\n"
