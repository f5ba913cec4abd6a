"""`roost logs`: the last lines of the gateway's log."""

from typing import Annotated

from cyclopts import Parameter

from roost.cli.show import as_json, say
from roost.cli.where import HERE, Where, gateway
from roost.protocol.families.status import LOGS


async def logs(
    *, limit: Annotated[int, Parameter(help="At most so many lines.")] = 100, where: Where = HERE
) -> int:
    """The last lines of the log of the gateway that runs, without secrets."""
    async with gateway(where) as client:
        found = await client.call(LOGS, {"limit": limit})
    if where.json:
        as_json(found)
        return 0
    for line in found["lines"]:
        say(line)
    if not found["lines"]:
        say("nothing: the gateway writes its log where it was started")
    return 0
