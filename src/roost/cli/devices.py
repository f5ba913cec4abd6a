"""`roost devices`: which devices may connect."""

from typing import Annotated

from cyclopts import App, Parameter

from roost.cli.rows import otherwise
from roost.cli.show import answer, as_json, objects, part, say, table
from roost.cli.where import HERE, Where, gateway
from roost.core.errors import NotFound
from roost.core.jsonvalue import JsonObject, JsonValue

app = App(name="devices", help="Devices that may connect.")

LIST, APPROVE, REJECT, REMOVE = (f"device.pair.{verb}" for verb in ("list", "approve", "reject", "remove"))
Request = Annotated[str, Parameter(help="Its number in the list.")]


@app.command(name="list")
@app.default
async def list_devices(*, where: Where = HERE) -> int:
    """Those that wait to be let in, and those that are."""
    async with gateway(where) as client:
        found = await client.call(LIST)
    if where.json:
        as_json(found)
        return 0
    show(found)
    return 0


def show(found: JsonValue) -> None:
    rows: list[tuple[object, ...]] = [
        ("waits", one.get("requestId"), one.get("deviceId"), one.get("scopes"))
        for one in objects(part(found, "pending"))
    ]
    rows += [("paired", "", one.get("deviceId"), one.get("scopes")) for one in objects(part(found, "paired"))]
    if rows:
        table(("state", "request", "device", "scopes"), rows)
    else:
        say("no devices")


@app.command
async def approve(request: Request, *, where: Where = HERE) -> int:
    """Let a device in that waits."""
    with otherwise(_not_waiting(request)):
        return await _do(where, APPROVE, {"requestId": request}, f"{request} is let in")


@app.command
async def reject(request: Request, *, where: Where = HERE) -> int:
    """Send a device away that waits."""
    with otherwise(_not_waiting(request)):
        return await _do(where, REJECT, {"requestId": request}, f"{request} is sent away")


@app.command
async def remove(
    device: Annotated[str, Parameter(help="Its id in the list.")], *, where: Where = HERE
) -> int:
    """Let a device in no more; its connections end."""
    with otherwise(NotFound(f"there is no device {device}", hint="`roost devices` shows those there are")):
        return await _do(where, REMOVE, {"deviceId": device}, f"{device} is out")


def _not_waiting(request: str) -> NotFound:
    return NotFound(
        f"no device waits as {request}", hint="it may have run out: `roost devices` shows those that wait"
    )


async def _do(where: Where, method: str, params: JsonObject, words: str) -> int:
    async with gateway(where) as client:
        found = await client.call(method, params)
    answer(where, found, words)
    return 0
