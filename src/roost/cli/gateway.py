"""`roost gateway`: run one, or ask the one that runs."""

import json
from functools import partial
from typing import Annotated

import anyio
from cyclopts import App, Parameter

from roost.cli.serve import serve
from roost.cli.show import as_json, say
from roost.cli.status import show
from roost.cli.where import HERE, Where, gateway
from roost.config.amounts import SpellingError
from roost.config.gateway import Bind
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject
from roost.protocol.families.sessions import LIST
from roost.protocol.families.status import HEALTH, STATUS

app = App(name="gateway", help="The gateway that clients connect to.")

PORTS = 65_535


@app.command
def run(
    *,
    port: Annotated[int | None, Parameter(help="TCP port; 0 takes one that is free.")] = None,
    bind: Annotated[str | None, Parameter(help="loopback, lan or an IP address.")] = None,
    where: Where = HERE,
) -> int:
    """Serve until interrupted."""
    if port is not None and not 0 <= port <= PORTS:
        raise InvalidInput(f"{port} is no port", hint=f"choose one up to {PORTS}")
    serving = partial(serve, where.loaded(), port, None if bind is None else _bind(bind))
    return anyio.run(serving, backend_options={"use_uvloop": True})


@app.command
async def status(*, where: Where = HERE) -> int:
    """How the gateway that runs does."""
    async with gateway(where) as client:
        found = await client.call(STATUS)
        recent = await client.call(LIST, {"limit": 5})
    if where.json:
        as_json(found)
    else:
        show(found, recent)
    return 0


@app.command
async def health(*, where: Where = HERE) -> int:
    """Whether the gateway that runs is well; 1 if it is not."""
    async with gateway(where) as client:
        found = await client.call(HEALTH)
    if where.json:
        as_json(found)
    else:
        say("well" if found.get("ok") else "not well; see `roost gateway status`")
    return 0 if found.get("ok") else 1


@app.command
async def call(
    method: Annotated[str, Parameter(help="For example sessions.list.")],
    params: Annotated[str, Parameter(help="Its parameters, a JSON object.")] = "{}",
    *,
    where: Where = HERE,
) -> int:
    """Ask the gateway that runs for anything it can; the answer is JSON."""
    async with gateway(where) as client:
        as_json(await client.call(method, _object(params)))
    return 0


def _object(text: str) -> JsonObject:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"the parameters are no JSON: {error}", hint="write '{\"limit\": 5}'") from None
    if not isinstance(found, dict):
        raise InvalidInput("the parameters are no JSON object", hint="write '{\"limit\": 5}'")
    return found


def _bind(text: str) -> Bind:
    try:
        return Bind.parse(text)
    except SpellingError:
        raise InvalidInput(f"{text!r} is not loopback, lan or an IP address") from None
