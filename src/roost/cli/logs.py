"""`roost logs`: what the gateway wrote down of its work."""

import json
from collections.abc import Iterable
from typing import Annotated

import anyio
from cyclopts import Parameter

from roost.cli.following import while_read
from roost.cli.show import as_json_line, say, say_wrong
from roost.cli.where import HERE, Where, anywhere
from roost.client import Client
from roost.core.jsonvalue import JsonObject
from roost.protocol.families.status import LOGS

FOLLOW_S = 1.0
_NAMED = ("trace", "run", "session")
_HEAD = ("time", "level", "logger", "message", "error")


async def logs(
    *,
    limit: Annotated[int, Parameter(help="At most so many lines.")] = 100,
    trace: Annotated[str | None, Parameter(help="Only the lines of this trace.")] = None,
    follow: Annotated[
        bool, Parameter(name=("--follow", "-f"), help="And those to come.", negative="")
    ] = False,
    where: Where = HERE,
) -> int:
    """The last lines of the gateway's log, without secrets; --json prints them as they are kept."""
    async with anywhere(where) as client:
        found = await client.call(LOGS, {"limit": limit})
        shown = _show(found["lines"], trace, where)
        if not found["lines"]:
            # For programs an empty output is the answer, and why stands beside it.
            (say_wrong if where.json else say)(f"nothing yet in {found['file']}")
        elif not shown and not follow:
            say_wrong(
                f"no line of trace {trace} among the last {limit} of {found['file']} (--limit looks further back)"
            )
        if follow:
            async with while_read():
                await _follow(client, found["cursor"], trace, where)
    return 0


async def _follow(client: Client, cursor: int, trace: str | None, where: Where) -> None:
    while True:
        await anyio.sleep(FOLLOW_S)
        found = await client.call(LOGS, {"cursor": cursor})
        _show(found["lines"], trace, where)
        cursor = found["cursor"]


def _show(lines: Iterable[str], trace: str | None, where: Where) -> int:
    """How many were."""
    shown = 0
    for line in lines:
        fields = _fields(line)
        if trace is not None and fields.get("trace") != trace:
            continue
        shown += 1
        if where.json:
            as_json_line(fields)
        else:
            say(line_of(fields))
    return shown


def _fields(line: str) -> JsonObject:
    """What was not written by the gateway stands as it is."""
    try:
        found = json.loads(line)
    except ValueError:
        return {"message": line}
    return found if isinstance(found, dict) else {"message": line}


def line_of(fields: JsonObject) -> str:
    time, level, logger, message, error = (fields.get(name) for name in _HEAD)
    named = " ".join(f"{name}={fields[name]}" for name in _NAMED if name in fields)
    head = f"{time} {str(level).upper():<7} {logger}: " if time else ""
    return f"{head}{message}{f'  {named}' if named else ''}" + (f"\n{error}" if error else "")
