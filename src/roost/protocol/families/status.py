"""How the gateway does."""

from typing import TypedDict

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.method import Method
from roost.protocol.params import Count, Name, NoParams, Params, Positive
from roost.protocol.scopes import Scope

MOST_LINES, MOST_BYTES = 5_000, 1_000_000


class HealthParams(Params):
    probe: bool = False


class StatusParams(Params):
    include_channel_summary: bool = True
    include_cli_projection: bool = False


class ChannelsParams(Params):
    """Of one `channel`, or of all. No channel is asked anew: `probe` and `timeoutMs` change nothing."""

    probe: bool = False
    timeout_ms: Count | None = None
    channel: Name | None = None


class TailParams(Params):
    cursor: Count | None = None
    limit: Positive = 500
    max_bytes: Positive = 250_000


class Tail(TypedDict):
    file: str
    cursor: int
    size: int
    lines: list[str]
    truncated: bool
    reset: bool


class Channels(TypedDict):
    ts: int
    channelOrder: list[str]
    channelLabels: dict[str, str]
    channels: JsonObject
    channelAccounts: JsonObject
    channelDefaultAccountId: JsonObject
    channelMeta: list[JsonValue]
    statusIssues: list[JsonValue]


HEALTH = Method(
    name="health",
    about="Whether the gateway is well, else `failing` names the parts that are not. It names no session.",
    params=HealthParams,
    result=dict[str, JsonValue],
    needs=None,
)
STATUS = Method(
    name="status",
    about="How things stand: sessions, clients, the parts of the gateway.",
    params=StatusParams,
    result=dict[str, JsonValue],
    needs=Scope.READ,
)
PRESENCE = Method(
    name="system-presence",
    about="The gateway and who is connected, of very many those who came last; whoever does not rule all sees those of his own.",
    params=NoParams,
    result=list[JsonValue],
    needs=Scope.READ,
)
CHANNELS = Method(
    name="channels.status",
    about="The channels that are served, with their accounts.",
    params=ChannelsParams,
    result=Channels,
    needs=Scope.READ,
)


class Beat(TypedDict):
    """`status` is `started` while it goes on; what was said is in its session."""

    ts: int
    agentId: str
    status: str


LAST_HEARTBEAT: Method[NoParams, Beat | None] = Method(
    name="last-heartbeat",
    about="The last look-around of an agent, for the owner; null where none was.",
    params=NoParams,
    result=Beat,
    needs=Scope.READ,
)


class HeartbeatsParams(Params):
    enabled: bool


class Heartbeats(TypedDict):
    ok: bool
    enabled: bool


HEARTBEATS = Method(
    name="set-heartbeats",
    about="Lets the look-arounds of all agents rest, or go on; it stays so until it is said otherwise, also after a restart.",
    params=HeartbeatsParams,
    result=Heartbeats,
    needs=Scope.ADMIN,
    owners=True,
)
LOGS = Method(
    name="logs.tail",
    about="The end of the log, or what was added since a cursor.",
    params=TailParams,
    result=Tail,
    needs=Scope.READ,
    owners=True,
)
