"""Nodes: devices that lend what they can do, and talk to sessions of their own."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field
from pydantic import JsonValue as Json

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.devices import Paired
from roost.protocol.handshake import MAX_PAYLOAD
from roost.protocol.method import Method
from roost.protocol.params import Name, NoParams, Params, Said
from roost.protocol.scopes import Role, Scope

USUAL_MS = 30_000
LONGEST_MS = 600_000
# Who asked is told it twice, as a value and as text, in one frame.
LONGEST_PAYLOAD = MAX_PAYLOAD * 2 // 5

Payload = Annotated[str, Field(max_length=LONGEST_PAYLOAD)]


class NodeParams(Params):
    node_id: Name


class InvokeParams(NodeParams):
    """Asked again with the same `idempotencyKey` within ten minutes, the node is not: the answer is that of the first time,
    or `node_answered` where that was larger than 64 KiB. Asked for something else under it, it refuses with `conflict`."""

    command: Name
    params: Json = None
    timeout_ms: Annotated[int, Field(ge=1, le=LONGEST_MS)] = USUAL_MS
    idempotency_key: Name


class Trouble(Params):
    code: Said | None = None
    message: Said | None = None


class ResultParams(NodeParams):
    """`id` is that of the request; the payload may be given as a value or as its JSON text."""

    id: Name
    ok: bool
    payload: Json = None
    payload_json: Annotated[Payload | None, Field(alias="payloadJSON")] = None
    error: Trouble | None = None


class EventParams(Params):
    """`agent.request` holds a `message`, `voice.transcript` a `text`; both may name a `sessionKey` and an `eventId`, under
    which the same event is taken once."""

    event: Name
    payload: Json = None
    payload_json: Annotated[Payload | None, Field(alias="payloadJSON")] = None


class Able(TypedDict):
    """What a node declared when it came."""

    caps: list[str]
    commands: list[str]
    permissions: JsonObject


class NodeRow(Able):
    """`gateway` names the one that a node is connected to, where that is another: what it can do is shown there."""

    nodeId: str
    displayName: NotRequired[str]
    platform: str
    deviceFamily: NotRequired[str]
    clientId: str
    clientMode: str
    version: NotRequired[str]
    paired: bool
    connected: bool
    approvedAtMs: int
    connectedAtMs: NotRequired[int]
    gateway: NotRequired[str]
    sessionKey: str


class Nodes(TypedDict):
    ts: int
    nodes: list[NodeRow]


class Described(NodeRow):
    ts: int


class Invoked(TypedDict):
    ok: Literal[True]
    nodeId: str
    command: str
    payload: JsonValue
    payloadJSON: NotRequired[str]


class Heard(TypedDict):
    """`ignored`: nobody waits for it any more."""

    ok: Literal[True]
    ignored: NotRequired[Literal[True]]


class Taken(TypedDict):
    """`handled` is false for an event that means nothing here."""

    ok: Literal[True]
    event: str
    handled: bool
    runId: NotRequired[str]
    sessionKey: NotRequired[str]


LIST = Method(
    name="node.list",
    about="Nodes that are paired, with what those that are connected can do.",
    params=NoParams,
    result=Nodes,
    needs=Scope.READ,
    owners=True,
)
DESCRIBE = Method(
    name="node.describe",
    about="One node.",
    params=NodeParams,
    result=Described,
    needs=Scope.READ,
    owners=True,
)
INVOKE = Method(
    name="node.invoke",
    about="Asks a node for something it declared, and answers what it answered. One that is away, slow or fails gives an "
    "error whose `details.code` is `node_offline`, `node_timeout` or `node_failed`; one that left before it answered gives "
    "`node_unknown`, and one that is connected to another gateway `node_elsewhere`, which names it. Only `node_offline` is safe to try again: after `node_timeout` and `node_unknown` it may have been done.",
    params=InvokeParams,
    result=Invoked,
    needs=Scope.WRITE,
    owners=True,
)
PAIRED = Method(
    name="node.pair.list",
    about="Nodes that are paired, and those that ask to be; `device.pair.*` decides on them.",
    params=NoParams,
    result=Paired,
    needs=Scope.PAIRING,
    owners=True,
)
RESULT = Method(
    name="node.invoke.result",
    about="A node's answer to `node.invoke.request`. Only nodes call it.",
    params=ResultParams,
    result=Heard,
    needs=None,
    role=Role.NODE,
)
EVENT = Method(
    name="node.event",
    about="What a node's holder says: a turn in the node's own session, or in another that is the node's. Its answer is "
    "told by `chat`. Only nodes call it.",
    params=EventParams,
    result=Taken,
    needs=None,
    role=Role.NODE,
)
