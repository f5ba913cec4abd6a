"""`roost import`: conversations from elsewhere."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from roost.app.importing import import_folder, import_session
from roost.cli.here import LOCAL, Local
from roost.cli.show import as_json, console, say

app = App(name="import", help="Conversations from elsewhere.")


@app.command
async def openclaw(
    folder: Annotated[Path, Parameter(help="A state folder, one agent's, or one folder of sessions.")],
    *,
    agent: Annotated[
        str | None, Parameter(help="Whose sessions they are, if the folder does not say.")
    ] = None,
    dry_run: Annotated[bool, Parameter(help="Read everything and keep nothing.", negative="")] = False,
    here: Local = LOCAL,
) -> int:
    """Take in the conversations of an OpenClaw folder, which is not changed; 1 if one could not be read. No gateway may
    run meanwhile, unless the store is on PostgreSQL."""
    quiet = here.json or not sys.stdout.isatty()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(), transient=True, disable=quiet) as bar:
        task = bar.add_task("reading", total=None)
        report = await import_folder(
            here.loaded() if dry_run else here.to_write(),
            folder,
            agent=agent,
            dry_run=dry_run,
            progress=lambda item: bar.advance(task),
        )
    lines = report.dry_lines() if dry_run else report.lines()
    tell(report.entries, report.complete, lines, here, kept=not dry_run)
    return 0 if report.complete else 1


async def session(
    path: Annotated[Path, Parameter(help="A transcript, or the folder that an export wrote.")],
    *,
    key: Annotated[str | None, Parameter(help="The key it gets; by default one of its own.")] = None,
    agent: Annotated[str | None, Parameter(help="Whose session it is; by default the default one's.")] = None,
    dry_run: Annotated[bool, Parameter(help="Read everything and keep nothing.", negative="")] = False,
    here: Local = LOCAL,
) -> int:
    """Take in one conversation from its transcripts; 1 if it could not be read. No gateway may run meanwhile,
    unless the store is on PostgreSQL."""
    loaded = here.loaded() if dry_run else here.to_write()
    report = await import_session(loaded, path, key=key, agent=agent, dry_run=dry_run)
    lines = report.dry_lines() if dry_run else report.lines()
    tell(report.entries, report.complete, lines, here, kept=not dry_run)
    return 0 if report.complete else 1


def tell(entries: int, complete: bool, lines: Sequence[str], here: Local, *, kept: bool) -> None:
    if here.json:
        as_json({"complete": complete, "entries": entries, "lines": lines})
        return
    say("\n".join(lines))
    if not kept:
        say("nothing was kept")
