"""`roost devices`: which devices may connect."""

from collections.abc import Iterator
from typing import Annotated

from cyclopts import App, Parameter

from roost.cli.rows import otherwise
from roost.cli.show import ago, answer, answer_table, cell, objects, part
from roost.cli.where import HERE, Where, gateway, now_of
from roost.core.errors import NotFound
from roost.core.jsonvalue import JsonObject, JsonValue

app = App(name="devices", help="Devices that may connect.")

LIST, APPROVE, REJECT, REMOVE = (f"device.pair.{verb}" for verb in ("list", "approve", "reject", "remove"))
ROTATE, REVOKE = "device.token.rotate", "device.token.revoke"
HEADS = ("state", "request", "code", "device", "name", "role", "scopes", "from", "since")
Request = Annotated[str, Parameter(help="The request in the list.")]
Device = Annotated[str, Parameter(help="Its id in the list.")]


@app.command(name="list")
@app.default
async def list_devices(*, where: Where = HERE) -> int:
    """Those that wait to be let in, and those that are."""
    async with gateway(where) as client:
        found, now = await client.call(LIST), await now_of(client)
    answer_table(where, found, HEADS, _rows(found, now), "no devices")
    return 0


def _rows(found: JsonValue, now: int) -> Iterator[tuple[object, ...]]:
    for one in objects(part(found, "pending")):
        state = "asks again" if one.get("isRepair") else "asks"
        asked = (one.get("remoteIp"), ago(one.get("ts"), now))
        yield state, one.get("requestId"), one.get("code"), *_device(one), *asked
    for one in objects(part(found, "paired")):
        state = "revoked" if one.get("revokedAtMs") else "paired"
        yield state, None, None, *_device(one), None, ago(one.get("approvedAtMs"), now)


def _device(one: JsonObject) -> tuple[JsonValue, ...]:
    names = (one.get("displayName") or one.get("clientId"), one.get("platform"))
    return (
        one.get("deviceId"),
        " on ".join(str(name) for name in names if name),
        one.get("role"),
        one.get("scopes"),
    )


@app.command
async def approve(request: Request, *, where: Where = HERE) -> int:
    """Let a device in that waits."""
    with otherwise(_not_waiting(request)):
        async with gateway(where) as client:
            found = await client.call(APPROVE, {"requestId": request})
    scopes = cell(part(found, "device", "scopes"))
    answer(where, found, f"{request} is let in, as {part(found, 'device', 'role')} with {scopes}")
    return 0


@app.command
async def reject(request: Request, *, where: Where = HERE) -> int:
    """Send a device away that waits."""
    with otherwise(_not_waiting(request)):
        return await _do(where, REJECT, {"requestId": request}, f"{request} is sent away")


@app.command
async def remove(device: Device, *, where: Where = HERE) -> int:
    """Let a device in no more; its connections end."""
    with otherwise(_not_there(device)):
        return await _do(where, REMOVE, {"deviceId": device}, f"{device} is out")


@app.command
async def rotate(device: Device, *, where: Where = HERE) -> int:
    """Give a device another token, and print it; the old one is void, and its connections end."""
    with otherwise(_not_there(device)):
        async with gateway(where) as client:
            found = await client.call(ROTATE, {"deviceId": device})
    answer(where, found, str(part(found, "token")))
    return 0


@app.command
async def revoke(device: Device, *, where: Where = HERE) -> int:
    """Take the token of a device back; its connections end, and it may ask to be let in again."""
    with otherwise(_not_there(device)):
        return await _do(where, REVOKE, {"deviceId": device}, f"the token of {device} is void")


def _not_there(device: str) -> NotFound:
    return NotFound(f"there is no device {device}", hint="`roost devices` shows those there are")


def _not_waiting(request: str) -> NotFound:
    return NotFound(
        f"no device waits as {request}", hint="it may have run out: `roost devices` shows those that wait"
    )


async def _do(where: Where, method: str, params: JsonObject, words: str) -> int:
    async with gateway(where) as client:
        found = await client.call(method, params)
    answer(where, found, words)
    return 0
