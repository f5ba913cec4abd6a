"""`roost db`: the store as a whole."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from roost.app.backups import back_up, restore_store
from roost.app.moving import Checked, check_store, copy_store, migrate_store
from roost.cli.here import LOCAL, Local
from roost.cli.show import answer, as_json, console, facts, say

app = App(name="db", help="The store as a whole.")

Place = Annotated[
    str | None, Parameter(help="A file, its folder or postgresql://…; else the store that is configured.")
]


@app.command
async def migrate(store: Place = None, *, here: Local = LOCAL) -> int:
    """Bring a store up to date, or make it. A gateway does so too when it starts."""
    before, after = await migrate_store(here.to_write(), store)
    if here.json:
        as_json({"before": before, "after": after})
    elif before == after:
        say(f"The store is up to date: schema {after}.")
    else:
        say(f"The store has schema {after} now; it had {before or 'none'}.")
    return 0


@app.command
async def check(store: Place = None, *, here: Local = LOCAL) -> int:
    """Say what a store is like and what is wrong with it; 1 if something is."""
    found = await check_store(here.loaded(), store)
    advice = _advice(found)
    if here.json:
        as_json(
            {
                "store": found.where,
                "schema": found.version,
                "known": found.known,
                "rows": found.rows,
                "gateways": found.gateways,
                "faults": found.faults,
                "advice": advice,
            }
        )
        return 1 if advice else 0
    facts(
        [
            ("store", found.where),
            ("schema", found.version),
            ("serving", ", ".join(found.gateways) or "none"),
            *((table, number) for table, number in found.rows.items() if number),
        ]
    )
    say(
        "\n".join(
            (*(f"wrong   {fault}" for fault in found.faults), advice or "Nothing is wrong with the store.")
        )
    )
    return 1 if advice else 0


@app.command
async def backup(
    to: Annotated[Path | None, Parameter(help="A new file; by default in the folder backups.")] = None,
    *,
    here: Local = LOCAL,
) -> int:
    """Copy the store to a new file while work goes on. It is remembered, so that erasing reaches it."""
    path = await back_up(here.to_write(), to)
    answer(here, {"file": str(path)}, f"The store is copied to {path}.")
    return 0


@app.command
async def restore(
    file: Annotated[Path, Parameter(help="What `roost db backup` wrote.")], *, here: Local = LOCAL
) -> int:
    """Put a backup in the place of the store, while no gateway runs. It is checked first; the store it replaces is kept
    under another name."""
    done = await restore_store(here.to_write(), file)
    found = {"store": str(done.path), "kept": None if done.kept is None else str(done.kept)}
    kept = f" The one that was there is kept as {done.kept}." if done.kept is not None else ""
    answer(here, found, f"The store is what {file} holds.{kept}")
    return 0


@app.command
async def copy(
    *,
    to: Annotated[str, Parameter(help="A new file, or postgresql://… of an empty store.")],
    source: Annotated[
        str | None,
        Parameter(name="--from", help="A file, its folder or postgresql://…; else the configured store."),
    ] = None,
    here: Local = LOCAL,
) -> int:
    """Copy all rows of a store to another, compare each with what it was, and keep all of it or nothing. No gateway may
    work on either."""
    quiet = here.json or not sys.stdout.isatty()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(), transient=True, disable=quiet) as bar:
        task = bar.add_task("rows copied and compared", total=None)
        rows = await copy_store(
            here.to_write(),
            source,
            to,
            lambda total: bar.update(task, total=total),
            lambda done: bar.advance(task, done),
        )
    answer(
        here,
        rows,
        f"{sum(rows.values())} rows were copied and are as they were; the store they came from is unchanged.",
    )
    return 0


def _advice(found: Checked) -> str | None:
    """What to do about what is wrong, if anything is."""
    if not found.version:
        return "There is no store of Roost in it: name another, or run roost db migrate to make one."
    if found.version < found.known:
        return f"It is not up to date (schema {found.known}): run roost db migrate."
    if found.version > found.known:
        return f"It was written by a newer Roost (this one knows schema {found.known}): upgrade Roost."
    if found.faults:
        return "Stop the gateways and run roost repair; what that leaves needs a backup."
    return None
