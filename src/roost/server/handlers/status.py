"""How the gateway does."""

import logging
import os
import sys
from pathlib import Path

import anyio

from roost.core.addresses import Account
from roost.core.figures import MINUTE_MS
from roost.core.fleet import Fleet
from roost.core.jsonvalue import JsonObject, JsonValue, lines_of
from roost.core.queries import SessionQuery
from roost.core.schedules import Every
from roost.core.visibility import Operation, scope
from roost.engine.timers import beat_id
from roost.protocol.families import status
from roost.protocol.families.status import Beat, Channels, Heartbeats, Tail
from roost.protocol.params import NoParams
from roost.server import snapshots
from roost.server.calls import Call
from roost.server.handlers.catalogue import defaults

RECENT = 5


async def health(call: Call, params: status.HealthParams) -> dict[str, JsonValue]:
    return dict(snapshots.health(call.house))


async def overview(call: Call, params: status.StatusParams) -> dict[str, JsonValue]:
    house, rules = call.house, call.house.engine.rules
    query = SessionQuery(scope=scope(Operation.LIST, call.caller), limit=RECENT)
    page = await house.store.glances(query)
    recent: list[JsonValue] = [*house.rows.rows(page.rows, titles=True)]
    path = house.about.store_path
    parts: list[JsonValue] = [
        {"name": one.name, "condition": str(one.condition), "since": one.since, "error": one.error}
        for one in house.engine.health().parts
    ]
    return {
        "runtimeVersion": house.about.version,
        "heartbeat": {
            "defaultAgentId": rules.routing.default_agent,
            "agents": [await _beat(call, agent) for agent in rules.commands.agents],
        },
        "sessions": {
            "paths": [path],
            "count": await house.count(call.caller),
            "defaults": defaults(call),
            "recent": recent,
            "byAgent": [await _of_agent(call, agent) for agent in rules.commands.agents],
        },
        "pid": os.getpid(),
        "uptimeMs": max(0, house.clock.now() - house.about.started_at),
        "clients": sum(1 for _ in house.clients.seen_by(call.caller)),
        "parts": parts,
        "gateways": _gateways(await house.store.fleet(), house.engine.name) if call.caller.rules_all else [],
        "python": sys.version.split()[0],
    }


async def presence(call: Call, params: NoParams) -> list[JsonValue]:
    return snapshots.presence(call.house, call.caller)


async def channels(call: Call, params: status.ChannelsParams) -> Channels:
    """Those that are connected, by what each says of itself in the gateway's health."""
    accounts_of = call.house.engine.accounts
    served = [one for one in accounts_of if params.channel in (None, one.channel)]
    fleet = await call.house.store.fleet()
    names = sorted({one.channel for one in served})
    accounts: JsonObject = {
        name: [_account(one, fleet) for one in served if one.channel == name] for name in names
    }
    return Channels(
        ts=call.house.clock.now(),
        channelOrder=names,
        channelLabels={name: name.capitalize() for name in names},
        channels={
            name: {
                "configured": True,
                "running": any(fleet.host_of(one) for one in served if one.channel == name),
            }
            for name in names
        },
        channelAccounts=accounts,
        channelDefaultAccountId={one.channel: one.account for one in reversed(served)},
        channelMeta=[],
        statusIssues=[],
    )


def _account(account: Account, fleet: Fleet) -> JsonObject:
    """`gateway` is the one that serves it."""
    host = fleet.host_of(account)
    return {
        "accountId": account.account,
        "enabled": True,
        "configured": True,
        "running": host is not None,
        "gateway": host,
    }


def _gateways(fleet: Fleet, own: str | None) -> list[JsonValue]:
    """Those that work on this store now."""
    return [
        {
            "name": lease.gateway.name,
            "holder": lease.gateway.holder,
            "address": lease.gateway.address,
            "configHash": lease.gateway.config_hash,
            "channels": [str(account) for account in fleet.hosted_by(lease)],
            "self": lease.gateway.name == own,
        }
        for lease in fleet.live
    ]


async def _of_agent(call: Call, agent: str) -> JsonObject:
    house = call.house
    query = SessionQuery(scope=scope(Operation.LIST, call.caller), agent=agent, limit=RECENT)
    recent = house.rows.rows((await house.store.glances(query)).rows, titles=True)
    count = await house.count(call.caller, agent)
    return {"agentId": agent, "path": house.about.store_path, "count": count, "recent": [*recent]}


async def _beat(call: Call, agent: str) -> JsonObject:
    """How often an agent looks around, if it does."""
    found = call.house.engine.rules.house.timers.beats.get(agent)
    job = await call.house.store.job(beat_id(agent)) if found else None
    every = found.plan.schedule.every_ms if found and isinstance(found.plan.schedule, Every) else None
    return {
        "agentId": agent,
        "enabled": found is not None and (job is None or job.plan.enabled),
        "every": f"{(every or 0) // MINUTE_MS}m",
        "everyMs": every,
    }


async def set_heartbeats(call: Call, params: status.HeartbeatsParams) -> Heartbeats:
    await call.house.engine.timers.switch(enabled=params.enabled)
    return Heartbeats(ok=True, enabled=params.enabled)


async def last_heartbeat(call: Call, params: NoParams) -> Beat | None:
    store, rules = call.house.store, call.house.engine.rules
    if not call.caller.rules_all:
        return None
    found = [
        Beat(ts=one.at, agentId=agent, status=str(one.state))
        for agent in rules.house.timers.beats
        for one in (await store.firings(beat_id(agent), limit=1)).rows
    ]
    return max(found, key=lambda one: one["ts"], default=None)


async def tail(call: Call, params: status.TailParams) -> Tail:
    """The end of the log, or what was added since a cursor."""
    file = call.house.about.log
    if file is None:
        return Tail(file="stderr", cursor=0, size=0, lines=[], truncated=False, reset=False)
    # Handlers may hold lines back for a moment; who asks shall find what led to the asking.
    for handler in logging.getLogger().handlers:
        handler.flush()
    path = anyio.Path(file)
    size = (await path.stat()).st_size if await path.exists() else 0
    reset = params.cursor is not None and params.cursor > size
    most = min(params.max_bytes, status.MOST_BYTES)
    asked = 0 if params.cursor is None or reset else params.cursor
    start = max(asked, size - most)
    text = await anyio.to_thread.run_sync(_read, Path(file), start, size)
    # A line that was cut in two is none.
    lines = lines_of(text)[1 if start > asked else 0 :]
    kept = lines[-min(params.limit, status.MOST_LINES) :]
    cut = start > asked or len(kept) < len(lines)
    return Tail(file=file, cursor=size, size=size, lines=kept, truncated=cut, reset=reset)


def _read(file: Path, start: int, end: int) -> str:
    if start == end:
        return ""
    with file.open("rb") as data:
        data.seek(start)
        return data.read(end - start).decode(errors="replace")
