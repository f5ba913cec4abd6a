"""`roost import`: conversations from elsewhere."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from roost.app import import_folder
from roost.cli.show import as_json, console, say
from roost.cli.where import HERE, Where

app = App(name="import", help="Conversations from elsewhere.")


@app.command
async def openclaw(
    folder: Annotated[Path, Parameter(help="A state folder, one agent's, or one folder of sessions.")],
    *,
    agent: Annotated[
        str | None, Parameter(help="Whose sessions they are, if the folder does not say.")
    ] = None,
    dry_run: Annotated[bool, Parameter(help="Read everything and keep nothing.", negative="")] = False,
    where: Where = HERE,
) -> int:
    """Take in the conversations of an OpenClaw folder, which is not changed; 1 if one could not be read. No gateway may
    run meanwhile."""
    quiet = where.json or not sys.stdout.isatty()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(), transient=True, disable=quiet) as bar:
        task = bar.add_task("reading", total=None)
        report = await import_folder(
            where.loaded(), folder, agent=agent, dry_run=dry_run, progress=lambda item: bar.advance(task)
        )
    if where.json:
        as_json({"complete": report.complete, "entries": report.entries, "lines": report.lines()})
    else:
        say("\n".join(report.lines()))
        if dry_run:
            say("nothing was kept")
    return 0 if report.complete else 1
