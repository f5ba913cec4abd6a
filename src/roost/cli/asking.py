"""`roost gateway status | health | drain | call`: the gateway that runs."""

import json
import math
from collections.abc import Awaitable
from difflib import get_close_matches
from typing import Annotated

import anyio
from cyclopts import Parameter

from roost.cli.show import answer, as_json, say
from roost.cli.status import tell
from roost.cli.where import HERE, Where, gateway
from roost.client import ConnectionLost, Refused
from roost.core.errors import InvalidInput, NotFound
from roost.core.figures import counted
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.operations import DRAIN
from roost.protocol.families.status import HEALTH


async def status(*, where: Where = HERE) -> int:
    """How the gateway that runs does."""
    async with gateway(where) as client:
        return await tell(client, where)


async def health(*, where: Where = HERE) -> int:
    """Whether the gateway that runs is well; 1 if it is not."""
    async with gateway(where) as client:
        found = await client.call(HEALTH)
    answer(where, found, "well" if found.get("ok") else "not well; see `roost gateway status`")
    return 0 if found.get("ok") else 1


async def drain(
    name: Annotated[
        str | None, Parameter(help="Its name in `roost status`, where there are several.")
    ] = None,
    *,
    where: Where = HERE,
) -> int:
    """Have the gateway that runs leave: it takes up nothing more, lets what is under way end, and ends."""
    async with gateway(where) as client:
        found = await client.call(DRAIN, {} if name is None else {"gateway": name})
    if where.json:
        as_json(found)
        return 0
    runs = [f"  {run['key']}" for run in found["runs"]]
    awaited = f"{counted(len(runs), 'run')} and what is being sent" if runs else "what is being sent"
    say(f"gateway {found['gateway']} leaves; it waits for {awaited}, {found['drainMs']} ms at most")
    for line in runs:
        say(line)
    return 0


async def call(
    method: Annotated[str, Parameter(help="For example sessions.list.")],
    params: Annotated[str, Parameter(help="Its parameters, a JSON object.")] = "{}",
    *,
    limit_ms: Annotated[
        int | None, Parameter(name="--timeout", help="How many milliseconds to wait for the answer.")
    ] = None,
    expect_final: Annotated[
        bool,
        Parameter(help="Wait for the end of what is answered when it is taken on, as agent.", negative=""),
    ] = False,
    where: Where = HERE,
) -> int:
    """Ask the gateway that runs for anything it can; the answer is JSON."""
    asked = read_object(params)
    async with gateway(where) as client:
        try:
            as_json(await _within(limit_ms, client.call(method, asked, begun=not expect_final)))
        except Refused as error:
            known = client.hello.methods
            if method in known or error.reason is not None:
                raise
            alike = get_close_matches(method, sorted(known))
            hint = f"did you mean {' or '.join(alike)}?" if alike else "the page of the protocol lists all"
            raise NotFound(error.message, hint=hint) from None
    return 0


async def _within(limit_ms: int | None, answer: Awaitable[JsonValue]) -> JsonValue:
    with anyio.move_on_after(math.inf if limit_ms is None else limit_ms / 1_000):
        return await answer
    raise ConnectionLost(
        f"no answer came within {limit_ms} ms",
        hint="whether it was done is not known; wait longer with --timeout",
    )


def read_object(text: str) -> JsonObject:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"the parameters are no JSON: {error}", hint="write '{\"limit\": 5}'") from None
    except RecursionError:
        raise InvalidInput("the parameters have too many levels", hint="no method takes so many") from None
    if not isinstance(found, dict):
        raise InvalidInput("the parameters are no JSON object", hint="write '{\"limit\": 5}'")
    return found
