"""What models cost, added up from the ledger."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.sessions import KeyParams
from roost.protocol.method import Method
from roost.protocol.params import AgentId, Name, Params, Positive, SessionName, Short
from roost.protocol.scopes import Scope

MOST_DAYS = 3_660
MOST_ROWS = 1_000

Rows = Annotated[int, Field(ge=1, le=MOST_ROWS)]


class Span(Params):
    """Which days, and whose. Days are those of UTC, of the gateway's clocks, or of a place: `timeZone` as `Europe/Rome`, or
    `utcOffset` as `UTC+2`."""

    agent_id: AgentId | None = None
    start_date: Short | None = None
    end_date: Short | None = None
    mode: Literal["utc", "gateway", "specific"] | None = None
    utc_offset: Short | None = None
    time_zone: Name | None = None
    agent_scope: Literal["all"] | None = None


class UsageParams(Span):
    """Days are those of UTC, unless `mode`, `timeZone` or `utcOffset` say otherwise."""

    key: SessionName | None = None
    range: Literal["7d", "30d", "90d", "1y", "all"] | None = None
    group_by: Literal["instance"] = "instance"
    include_historical: bool = False
    limit: Positive = 50
    include_context_weight: bool = False


class CostParams(Span):
    """Days as `sessions.usage` counts them, with no `startDate` so many up to the last."""

    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = 30


class Cost(TypedDict):
    """`daily` are the days on which something was spent."""

    updatedAt: int
    days: int
    daily: list[JsonValue]
    totals: JsonObject


class SeriesParams(KeyParams):
    limit: Rows = 200


class Series(TypedDict):
    """Oldest first; what is cumulative counts from the session's first call on."""

    sessionId: str
    points: list[JsonObject]
    hasMore: bool


class LogParams(KeyParams):
    limit: Rows = 200


class Log(TypedDict):
    """Oldest first; `tokens` and `cost` are those of the call that a message came of."""

    logs: list[JsonObject]


USAGE = Method(
    name="sessions.usage",
    about="What each session cost within some days, and what all of it was spent for: by model, provider, agent and day. `messages` and `daily` are of all sessions that may be read, and `sessionCount` of those that were touched since the first day; `sessions` are a page of them.",
    params=UsageParams,
    result=dict[str, JsonValue],
    needs=Scope.READ,
)
TIMESERIES = Method(
    name="sessions.usage.timeseries",
    about="What the newest model calls of a session cost, one by one; to others than the owner those they caused.",
    params=SeriesParams,
    result=Series,
    needs=Scope.READ,
)
LOGS = Method(
    name="sessions.usage.logs",
    about="The newest messages of a session, each with what it cost.",
    params=LogParams,
    result=Log,
    needs=Scope.READ,
)
COST = Method(
    name="usage.cost",
    about="What was spent within some days, day by day; to others than the owner what they caused.",
    params=CostParams,
    result=Cost,
    needs=Scope.READ,
)
