"""What `make run` and the `roost` command start: until there is a gateway, a look at what is here."""

import sys

import anyio

from roost import __version__
from roost.app import database_file, open_store
from roost.config import Loaded, from_environment
from roost.core.errors import RoostError
from roost.core.queries import SessionQuery


def main() -> int:
    """Read the configuration, open the store, say what was found; 1 if either is refused."""
    try:
        loaded = from_environment().read()
        anyio.run(_look, loaded)
    except RoostError as error:
        sys.stderr.write(f"roost: {error}\n")
        return 1
    return 0


async def _look(loaded: Loaded) -> None:
    sources = loaded.sources
    async with open_store(loaded) as store:
        page = await store.list_sessions(SessionQuery(limit=200))
        faults = await store.check()
    count = f"{len(page.rows)}{' or more' if page.more else ''}"
    lines = [
        f"Roost {__version__}",
        f"configuration  {sources.file}{'' if sources.exists else ' (not there: defaults)'}",
        f"store          {database_file(sources.home)}, {'sound' if not faults else f'{len(faults)} faults'}",
        f"sessions       {count}",
        *(f"warning        {warning}" for warning in loaded.warnings),
        *(f"fault          {fault}" for fault in faults),
        "There is no gateway to start yet.",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
