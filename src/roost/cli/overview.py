"""`roost` by itself: what is configured and what is stored, then a conversation on this terminal."""

import sys
from collections.abc import Iterator, Sequence

import anyio

from roost import __version__
from roost.app import database_file, open_store
from roost.cli.console import talk
from roost.cli.repair import repair
from roost.config import Loaded, from_environment
from roost.core.errors import RoostError
from roost.core.queries import SessionQuery

SHOWN = 200


def main(arguments: Sequence[str] = ()) -> int:
    """Say what is there and talk until the input ends; 1 if the configuration or the store is refused."""
    if arguments not in ([], (), ["repair"]):
        sys.stderr.write("roost: there is `roost` by itself and `roost repair`\n")
        return 2
    try:
        loaded = from_environment().read()
        if arguments:
            return anyio.run(repair, loaded)
        sys.stdout.write(anyio.run(_overview, loaded))
        sys.stdout.flush()
        anyio.run(talk, loaded)
    except (RoostError, ExceptionGroup) as error:
        return refused(error)
    except KeyboardInterrupt:
        return 0
    return 0


def refused(error: Exception) -> int:
    """Say what went wrong, without the tasks it went wrong in; what is no error of Roost's own goes on its way."""
    told = list(_leaves(error))
    if not all(isinstance(one, RoostError) for one in told):
        raise error
    # Several tasks may have met the same end.
    sys.stderr.write("".join(dict.fromkeys(f"roost: {one}\n" for one in told)))
    return 1


def _leaves(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


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
        "Write a message and press return; /help shows the commands, Ctrl-C stops an answer, the end of the input leaves.",
    ]
    return "\n".join(lines) + "\n\n"
