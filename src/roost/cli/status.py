"""`roost status`: how things stand, in a few lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from roost.cli.rows import calls, cost, sessions_table
from roost.cli.show import as_json, facts, objects, part, say, table
from roost.cli.where import HERE, Where, anywhere
from roost.client import Client
from roost.core.addresses import DEFAULT_ACCOUNT
from roost.core.figures import counted, duration
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.operations import AUDIT, Audited
from roost.protocol.families.sessions import LIST, Listed
from roost.protocol.families.status import CHANNELS, STATUS, Channels
from roost.protocol.families.usage import USAGE


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class More:
    """What is told besides."""

    deep: Annotated[bool, Parameter(help="And what is left open to others.", negative="")] = False
    usage: Annotated[bool, Parameter(help="And what the last 30 days cost.", negative="")] = False
    all: Annotated[bool, Parameter(help="All of it.", negative="")] = False


NO_MORE = More()


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How things stand; `audit` and `usage` where they were asked for."""

    status: dict[str, JsonValue]
    recent: Listed
    channels: Channels
    audit: Audited | None
    usage: dict[str, JsonValue] | None

    def as_json(self) -> dict[str, object]:
        more = {"securityAudit": self.audit, "usage": self.usage}
        given = {name: value for name, value in more.items() if value is not None}
        return {**self.status, "channels": self.channels, **given}


async def status(*, more: More = NO_MORE, where: Where = HERE) -> int:
    """How the gateway does, and what was going on last."""
    async with anywhere(where) as client:
        return await tell(client, where, more)


async def tell(client: Client, where: Where, more: More = NO_MORE) -> int:
    found = Told(
        status=await client.call(STATUS),
        recent=await client.call(LIST, {"limit": 5, "includeDerivedTitles": True}),
        channels=await client.call(CHANNELS),
        audit=await _audit(client) if more.deep or more.all else None,
        usage=await _usage(client) if more.usage or more.all else None,
    )
    if where.json:
        as_json(found.as_json())
    else:
        _show(found)
    return 0


async def _audit(client: Client) -> Audited:
    return await client.call(AUDIT)


async def _usage(client: Client) -> dict[str, JsonValue]:
    return await client.call(USAGE, {"range": "30d", "limit": 1})


def address_of(found: JsonObject) -> str | None:
    """Where the gateway that answered listens; nowhere, if it is one within the command."""
    here = next((one for one in objects(found.get("gateways")) if one.get("self")), {})
    address = here.get("address")
    return address if isinstance(address, str) and address else None


def _show(told: Told) -> None:
    found = told.status
    facts(_facts(told))
    gateways = objects(found.get("gateways"))
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
    if told.audit is not None and told.audit["findings"]:
        table(
            ("severity", "found", "setting"),
            [(one.get("severity"), one.get("detail"), one.get("setting")) for one in told.audit["findings"]],
        )
    if told.recent["sessions"]:
        say("")
        sessions_table(told.recent["sessions"], told.recent["ts"])


def _facts(told: Told) -> Iterator[tuple[str, object]]:
    found, uptime = told.status, told.status.get("uptimeMs")
    yield "gateway", address_of(found) or "none runs: this is one within the command"
    yield "version", found.get("runtimeVersion")
    yield "process", found.get("pid")
    yield "up", duration(uptime) if isinstance(uptime, int) else None
    yield "store", part(found, "sessions", "paths") or None
    yield "clients", found.get("clients")
    yield "sessions", part(found, "sessions", "count")
    yield "model", part(found, "sessions", "defaults", "model")
    yield "channels", ", ".join(_channels(told.channels)) or "none"
    if told.audit is not None:
        yield "security", counted(len(told.audit["findings"]), "finding")
    if told.usage is not None:
        totals = told.usage.get("totals")
        yield "30 days", f"{cost(part(totals, 'totalCost'))} in {calls(part(totals, 'calls'))}"


def _channels(found: Channels) -> Iterator[str]:
    """Each account by its channel's name; one that no gateway serves now is said to be so."""
    for name in found["channelOrder"]:
        for one in objects(found["channelAccounts"][name]):
            account = one.get("accountId")
            shown = name if account == DEFAULT_ACCOUNT else f"{name}/{account}"
            yield shown if one.get("running") else f"{shown} (not served)"
