"""`roost send`: a message, and no waiting for its answer."""

import uuid
from typing import Annotated

from cyclopts import Parameter

from roost.cli.show import as_json, say
from roost.cli.where import HERE, Where, anywhere
from roost.core.jsonvalue import JsonObject
from roost.protocol.families.chat import SEND


async def send(
    *,
    message: Annotated[str, Parameter(name=("--message", "-m"), help="What to say.")],
    session: Annotated[str, Parameter(help="In which session.")] = "main",
    key: Annotated[
        str | None, Parameter(help="Said again under the same key it is the same message.")
    ] = None,
    deliver: Annotated[
        bool, Parameter(help="Send the answer to the chat the session was last met in.", negative="")
    ] = False,
    where: Where = HERE,
) -> int:
    """Say something in a session; the answer is found in its history."""
    name = key or str(uuid.uuid4())
    params: JsonObject = {
        "sessionKey": session,
        "message": message,
        "idempotencyKey": name,
        "deliver": deliver,
    }
    async with anywhere(where) as client:
        found = await client.call(SEND, params)
    if where.json:
        as_json(found)
    else:
        say(f"taken as {found['runId']}: {found['status']}")
    return 0
