"""`roost sessions replay`: play an exported session again and say where it comes out differently."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from roost.app.replaying import replay as replayed
from roost.cli.show import as_json, say


async def replay(
    file: Annotated[Path, Parameter(help="A transcript that `roost sessions export` wrote.")],
    *,
    json: Annotated[bool, Parameter(help="Print JSON.", negative="")] = False,
) -> int:
    """Play a session again with the answers and results that were recorded; 1 if it comes out differently."""
    found = await replayed(file)
    recording, difference = found.recording, found.difference
    if json:
        as_json(
            {
                "equal": difference is None,
                "turns": len(recording.turns),
                "messages": len(recording.messages),
                "leftOut": recording.left_out,
                "difference": None
                if difference is None
                else {
                    "message": difference.number,
                    "recorded": difference.recorded,
                    "replayed": difference.replayed,
                },
            }
        )
    elif difference is None:
        left = f"; {recording.left_out} that cannot be played were left out" if recording.left_out else ""
        say(f"equal: {len(recording.messages)} messages in {len(recording.turns)} turns{left}")
    else:
        say(f"message {difference.number} is not as it was")
        say(f"recorded  {difference.recorded or 'nothing'}")
        say(f"replayed  {difference.replayed or 'nothing'}")
    return 0 if difference is None else 1
