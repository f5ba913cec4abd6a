"""`roost erase`: forget one person."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from roost.app.backups import database_of, known_backups
from roost.app.erasing import Erased, erase, who
from roost.cli.here import LOCAL, Local
from roost.cli.show import as_json, say
from roost.cli.typing import read_line
from roost.core.errors import InvalidInput


async def forget(
    person: Annotated[str, Parameter(help="channel:id, or a name in session.identityLinks.")],
    *,
    yes: Annotated[bool, Parameter(help="Do not ask.", negative="")] = False,
    backup: Annotated[
        tuple[Path, ...], Parameter(help="A backup that was moved from where it was made; may be repeated.")
    ] = (),
    here: Local = LOCAL,
) -> int:
    """Erase a person from the store and every backup of it, while no gateway runs; 1 if a file could not be reached."""
    loaded = here.to_write()
    meant = who(loaded, person)
    files = (database_of(loaded), *known_backups(loaded), *backup)
    if not yes:
        say(f"{', '.join(sorted(map(str, meant.principals)))} will be erased from:")
        for path in files:
            say(f"  {path}")
        say("This cannot be undone. Type the person again to go on.")
        if (read_line("> ") or "").strip() != person:
            raise InvalidInput("nothing was erased", hint="type the person as you gave it, or add --yes")
    done = await erase(loaded, meant, backup)
    if here.json:
        as_json(_shown(done))
    else:
        for one in done.rewritten:
            say(
                f"erased  {one.path}: {one.rows} rows, {one.sessions} sessions; blanked in {one.touched} of others"
            )
        for export in done.removed:
            say(f"removed {export}")
        for left in done.unreached:
            say(f"left    {left.path}: {left.why}")
    return 1 if done.unreached else 0


def _shown(done: Erased) -> object:
    return {
        "erased": [
            {"file": str(one.path), "rows": one.rows, "sessions": one.sessions, "touched": one.touched}
            for one in done.rewritten
        ],
        "removed": [str(one) for one in done.removed],
        "left": [{"file": str(one.path), "why": one.why} for one in done.unreached],
    }
