"""`roost sessions bundle | unbundle`: a session as one file, to take elsewhere."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from roost.app.bundling import bundle_session
from roost.app.importing import import_packed
from roost.cli.here import LOCAL, Local
from roost.cli.imports import tell
from roost.cli.show import answer
from roost.core.figures import counted


async def bundle(
    key: Annotated[str, Parameter(help="A key from the list, or main.")],
    file: Annotated[Path, Parameter(help="The file to write, which must not be there yet.")],
    *,
    here: Local = LOCAL,
) -> int:
    """Write a session, all its resets, its children and what they cost to one file, without secrets. A gateway may run
    meanwhile."""
    chosen, packed = await bundle_session(here.loaded(), key, file)
    answer(
        here,
        {
            "key": str(chosen),
            "file": str(file),
            "sessions": packed.sessions,
            "transcripts": packed.transcripts,
            "lines": packed.lines,
            "calls": packed.calls,
        },
        f"{chosen} → {file}: {counted(packed.sessions, 'session')}, "
        f"{counted(packed.transcripts, 'transcript')}, {counted(packed.calls, 'call')}",
    )
    return 0


async def unbundle(
    file: Annotated[Path, Parameter(help="A file that `roost sessions bundle` wrote.")],
    *,
    fork: Annotated[
        bool, Parameter(help="Under keys of its own, beside what is there.", negative="")
    ] = False,
    agent: Annotated[
        str | None, Parameter(help="Whose sessions they become, if not those they were.")
    ] = None,
    dry_run: Annotated[
        bool, Parameter(help="Verify and read everything and keep nothing.", negative="")
    ] = False,
    here: Local = LOCAL,
) -> int:
    """Take in a session from such a file, all of it or nothing. No gateway may run meanwhile, unless the store is on
    PostgreSQL."""
    loaded = here.loaded() if dry_run else here.to_write()
    report = await import_packed(loaded, file, agent=agent, fork=fork, dry_run=dry_run)
    lines = report.dry_lines() if dry_run else report.lines()
    tell(report.entries, report.complete, lines, here, kept=not dry_run)
    return 0
