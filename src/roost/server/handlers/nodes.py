"""Nodes: shown and asked by the gateway's owner; what they answer and say themselves."""

import json
from collections.abc import Mapping

from roost.core.addressed import Commands
from roost.core.devices import Device
from roost.core.errors import InvalidInput, NotFound
from roost.core.grants import Role
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.nodes import Answer, Declared, Done, Failed, NodeElsewhere, NodeOffline
from roost.core.sources import node_key
from roost.protocol.families import nodes
from roost.protocol.families.devices import Paired
from roost.protocol.families.nodes import Described, Heard, Invoked, NodeRow, Nodes, Taken
from roost.protocol.params import LONGEST_NAME, NoParams
from roost.server.calls import Call
from roost.server.handlers.devices import listed
from roost.server.handlers.talking import Talk, Words
from roost.server.nodeplaces import elsewhere
from roost.server.nodes import Wish

MOST_OF_TROUBLE = 4_000
SAYING: Mapping[str, str] = {"agent.request": "message", "voice.transcript": "text"}
"""Events in which somebody says something, and where it stands."""


async def list_nodes(call: Call, params: NoParams) -> Nodes:
    found = sorted(await _paired(call), key=lambda one: -one.approved_at)
    return Nodes(ts=call.house.clock.now(), nodes=[await _row(call, device) for device in found])


async def describe(call: Call, params: nodes.NodeParams) -> Described:
    row = await _row(call, await _known(call, params.node_id))
    return Described(ts=call.house.clock.now(), **row)


async def list_paired(call: Call, params: NoParams) -> Paired:
    return await listed(call, Role.NODE)


async def invoke(call: Call, params: nodes.InvokeParams) -> Invoked:
    house = call.house
    device = await _known(call, params.node_id)
    wish = Wish(
        node_id=params.node_id,
        command=params.command,
        params=params.params,
        limit_ms=params.timeout_ms,
        name=params.idempotency_key,
    )
    try:
        done = await house.nodes.invoke(wish, house.new_id())
    except NodeOffline:
        gateway = await elsewhere(house, device)
        if gateway is None:
            raise
        named = f"gateway {gateway.name}" + (f" ({gateway.address})" if gateway.address else "")
        raise NodeElsewhere(f"the node is connected to {named}", hint="ask it there") from None
    told = Invoked(ok=True, nodeId=params.node_id, command=params.command, payload=done.payload)
    if done.text is not None:
        told["payloadJSON"] = done.text
    return told


async def result(call: Call, params: nodes.ResultParams) -> Heard:
    if params.node_id != call.client.device:
        raise InvalidInput("a node answers for itself", hint="give its own `nodeId`")
    taken = call.house.nodes.answered(call.client, params.id, _answer(params))
    return Heard(ok=True) if taken else Heard(ok=True, ignored=True)


def _answer(params: nodes.ResultParams) -> Answer:
    if params.ok:
        value = _value(params.payload_json) if params.payload_json is not None else params.payload
        return Done(payload=value, text=params.payload_json)
    trouble = params.error or nodes.Trouble()
    return Failed(
        message=(trouble.message or "the node could not do it")[:MOST_OF_TROUBLE],
        code=trouble.code and trouble.code[:MOST_OF_TROUBLE],
    )


class Saying:
    """What a node's holder says to an agent."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    async def event(self, call: Call, params: nodes.EventParams) -> Taken:
        field = SAYING.get(params.event)
        if field is None:
            return Taken(ok=True, event=params.event, handled=False)
        said = _payload(params)
        text = _text(said, field)
        if text is None:
            raise InvalidInput(f"{params.event} needs a `{field}`")
        house, node_id = call.house, call.caller.principal.id
        agent = house.engine.rules.routing.default_agent
        # Nothing in it is a command: those need scopes, and a node has none.
        words = Words(
            key=node_key(agent, node_id, _text(said, "sessionKey")),
            text=text,
            name=_event_id(said) or house.new_id(),
            commands=Commands.WORDS,
        )
        await self._talk.say(call, words)
        return Taken(ok=True, event=params.event, handled=True, runId=words.name, sessionKey=str(words.key))


def _payload(params: nodes.EventParams) -> JsonObject:
    value = _value(params.payload_json) if params.payload_json is not None else params.payload
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{params.event} needs a payload", hint="give `payload`, an object")
    return value


def _text(said: JsonObject, field: str) -> str | None:
    value = said.get(field)
    return value if isinstance(value, str) and value.strip() else None


def _event_id(said: JsonObject) -> str | None:
    given = _text(said, "eventId")
    if given is not None and len(given) > LONGEST_NAME:
        raise InvalidInput(f"an `eventId` has at most {LONGEST_NAME} characters", hint="give a shorter one")
    return given


def _value(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput("`payloadJSON` is not JSON") from None
    return value


async def _paired(call: Call) -> list[Device]:
    devices = await call.house.store.devices()
    return [one for one in devices.paired if one.role == Role.NODE and one.revoked_at is None]


async def _known(call: Call, node_id: str) -> Device:
    for device in await _paired(call):
        if device.id == node_id:
            return device
    raise NotFound("unknown nodeId", hint="`node.list` shows the nodes there are")


async def _row(call: Call, device: Device) -> NodeRow:
    house, identity = call.house, device.identity
    client = house.nodes.connected(device.id)
    other = await elsewhere(house, device) if client is None else None
    declared = Declared() if client is None else client.declared
    row = NodeRow(
        nodeId=device.id,
        platform=identity.platform,
        clientId=identity.client_id,
        clientMode=identity.client_mode,
        paired=True,
        connected=client is not None or other is not None,
        approvedAtMs=device.approved_at,
        sessionKey=str(node_key(house.engine.rules.routing.default_agent, device.id)),
        caps=list(declared.caps),
        commands=list(declared.commands),
        permissions=dict(declared.permissions),
    )
    if identity.name is not None:
        row["displayName"] = identity.name
    if identity.family is not None:
        row["deviceFamily"] = identity.family
    if client is not None:
        row["version"] = client.client.version
        row["connectedAtMs"] = client.since
    if other is not None:
        row["gateway"] = other.name
    return row
