"""`roost status`: how things stand, in a few lines."""

from roost.cli.rows import sessions_table
from roost.cli.show import as_json, facts, objects, part, say, table
from roost.cli.where import HERE, Where, anywhere
from roost.client import Client
from roost.core.figures import duration
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.sessions import LIST, Listed
from roost.protocol.families.status import STATUS


async def status(*, where: Where = HERE) -> int:
    """How the gateway does, and what was going on last."""
    async with anywhere(where) as client:
        return await tell(client, where)


async def tell(client: Client, where: Where) -> int:
    found = await client.call(STATUS)
    recent = await client.call(LIST, {"limit": 5, "includeDerivedTitles": True})
    if where.json:
        as_json(found)
    else:
        _show(found, recent)
    return 0


def address_of(found: JsonObject) -> str | None:
    """Where the gateway that answered listens; nowhere, if it is one within the command."""
    here = next((one for one in objects(found.get("gateways")) if one.get("self")), {})
    address = here.get("address")
    return address if isinstance(address, str) and address else None


def _show(found: dict[str, JsonValue], recent: Listed) -> None:
    uptime = found.get("uptimeMs")
    gateways = objects(found.get("gateways"))
    facts(
        [
            ("gateway", address_of(found) or "none runs: this is one within the command"),
            ("version", found.get("runtimeVersion")),
            ("process", found.get("pid")),
            ("up", duration(uptime) if isinstance(uptime, int) else None),
            ("clients", found.get("clients")),
            ("sessions", part(found, "sessions", "count")),
            ("model", part(found, "sessions", "defaults", "model")),
        ]
    )
    if len(gateways) > 1:
        table(
            ("gateway", "address", "channels", "this one"),
            [(one.get("name"), one.get("address"), one.get("channels"), one.get("self")) for one in gateways],
        )
    broken = [one for one in objects(found.get("parts")) if one.get("error")]
    if broken:
        table(
            ("part", "condition", "error"),
            [(one.get("name"), one.get("condition"), one.get("error")) for one in broken],
        )
    if recent["sessions"]:
        say("")
        sessions_table(recent["sessions"], recent["ts"])
