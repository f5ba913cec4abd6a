"""How things stand, as a client is told when it comes and when it asks. Whoever may not read is told of no session."""

import os
import platform

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.scopes import main_key
from roost.core.sources import node_key
from roost.core.visibility import PersonCaller
from roost.protocol.events import EVERY as EVENTS
from roost.protocol.events import FOR_NODES
from roost.protocol.handshake import Offer
from roost.protocol.methods import advertised
from roost.protocol.scopes import Scope
from roost.server.clients import Connected
from roost.server.house import House

MOST_SHOWN = 200
CAPABILITIES = ("published-model-catalog",)


def offer(house: House, client: Connected) -> Offer:
    return Offer(
        version=house.about.version,
        boot_id=house.about.boot_id,
        methods=advertised(client.role),
        events=FOR_NODES if client.is_node else EVENTS,
        capabilities=CAPABILITIES,
    )


def snapshot(house: House, client: Connected) -> JsonObject:
    now, rules = house.clock.now(), house.engine.rules
    agent = rules.routing.default_agent
    if client.is_node:
        main = node_key(agent, client.admitted.principal.id)
    else:
        main = main_key(agent, rules.routing.main_name, rules.routing.scope)
    private: dict[str, JsonValue] = {}
    if client.may(Scope.ADMIN):
        private = {"authMode": house.about.auth_mode, "configPath": rules.house.shown.path}
    return {
        "presence": presence(house, client.caller) if client.may(Scope.READ) else [],
        # Clients know these fields, and no other, of what they are greeted with.
        "health": _known_health(house),
        "stateVersion": {"presence": 1, "health": 1},
        "uptimeMs": max(0, now - house.about.started_at),
        "appliedConfigHash": rules.house.shown.fingerprint or None,
        "sessionDefaults": {
            "defaultAgentId": agent,
            "mainKey": rules.routing.main_name,
            "mainSessionKey": str(main),
            "scope": str(rules.routing.scope),
        },
        **private,
    }


def health(house: House) -> JsonObject:
    """Names no session: it is told to whoever is connected."""
    return {**_known_health(house), "failing": list(house.engine.health().failing)}


def _known_health(house: House) -> JsonObject:
    return {
        "ok": house.engine.health().ok,
        "ts": house.clock.now(),
        "durationMs": 0,
        "plugins": {"loaded": [], "errors": [], "unavailable": []},
        "defaultAgentId": house.engine.rules.routing.default_agent,
    }


def presence(house: House, caller: PersonCaller) -> list[JsonValue]:
    """This gateway, then who is connected, as far as it is the caller's to know: of very many those who came last, since
    everybody who comes is told."""
    about, now = house.about, house.clock.now()
    own: JsonObject = {
        "host": platform.node() or "gateway",
        "version": about.version,
        "platform": platform.system().lower(),
        "mode": "gateway",
        "reason": "self",
        "instanceId": about.boot_id,
        "text": f"Roost {about.version}, process {os.getpid()}",
        "ts": now,
    }
    shown = tuple(house.clients.seen_by(caller))[-MOST_SHOWN:]
    return [own, *(_entry(client, now) for client in shown)]


def _entry(client: Connected, now: int) -> JsonObject:
    said = client.client
    named: dict[str, JsonValue] = {
        "host": said.display_name,
        "deviceFamily": said.device_family,
        "instanceId": said.instance_id,
        "deviceId": client.device,
        "caps": list(client.declared.caps) if client.is_node else None,
        "commands": list(client.declared.commands) if client.is_node else None,
    }
    return {
        "clientId": said.id,
        "version": said.version,
        "platform": said.platform,
        "mode": said.mode,
        "roles": [str(client.role)],
        "scopes": [str(scope) for scope in client.admitted.scopes],
        "reason": "connect",
        "text": f"{said.display_name or said.id} ({said.mode})",
        "onlineSince": client.since,
        "ts": now,
        **{name: value for name, value in named.items() if value is not None},
    }
