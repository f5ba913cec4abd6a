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


HEALTH = Method(name="health", params=HealthParams, result=dict[str, JsonValue], needs=None)
STATUS = Method(name="status", params=StatusParams, result=dict[str, JsonValue], needs=Scope.READ)
PRESENCE = Method(name="system-presence", params=NoParams, result=list[JsonValue], needs=Scope.READ)
CHANNELS = Method(name="channels.status", params=ChannelsParams, result=Channels, needs=Scope.READ)
LAST_HEARTBEAT = Method(name="last-heartbeat", params=NoParams, result=type(None), needs=Scope.READ)
LOGS = Method(name="logs.tail", params=TailParams, result=Tail, needs=Scope.READ, owners=True)
