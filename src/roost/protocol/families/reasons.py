"""What only Roost can be asked: why a session is as it is, and what happened in it from its beginning."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from roost.core.commands import Aspect
from roost.core.jsonvalue import JsonObject
from roost.protocol.families.sessions import KeyParams
from roost.protocol.method import Method
from roost.protocol.params import AgentId, Count, Name, Params, SessionName
from roost.protocol.scopes import Scope

MOST_ROWS = 1_000
MOST_CHARS = 500_000

Rows = Annotated[int, Field(ge=1, le=MOST_ROWS)]


class ExplainParams(KeyParams):
    """Without `about`, all of it."""

    about: Annotated[Aspect, Field(strict=False)] | None = None


class Explained(TypedDict):
    """`reasons` are `{about, text}`."""

    ts: int
    key: str
    sessionId: str
    reasons: list[JsonObject]


class TimelineParams(KeyParams):
    """The newest messages before a cursor, through every reset and compaction. What a filter passes over makes a page
    shorter, not the last."""

    before: Annotated[str, Field(pattern=r"^[0-9]{1,18}:[0-9]{1,18}$", max_length=37)] | None = None
    limit: Rows = 200
    roles: Annotated[frozenset[Literal["user", "assistant", "toolResult", "system"]], Field(strict=False)] = (
        frozenset()
    )
    tool: Name | None = None
    errors: bool = False
    since: Count | None = None
    until: Count | None = None
    max_chars: Annotated[int, Field(ge=1, le=MOST_CHARS)] = MOST_CHARS


class Timeline(TypedDict):
    """`before` is the cursor of the next older page; null where there is none."""

    ts: int
    key: str
    sessionId: str
    messages: list[JsonObject]
    before: str | None


class DenialsParams(Params):
    """Of one session, those whose caller it was."""

    key: SessionName | None = None
    agent_id: AgentId | None = None
    limit: Rows = 100


class Denials(TypedDict):
    ts: int
    denials: list[JsonObject]


class LedgerParams(Params):
    """With `tree`, the calls of a session's descendants too. Times are UTC milliseconds."""

    key: SessionName | None = None
    agent_id: AgentId | None = None
    tree: bool = False
    since: Count | None = None
    until: Count | None = None
    offset: Count = 0
    limit: Rows = 100


class Ledger(TypedDict):
    ts: int
    calls: list[JsonObject]
    totals: JsonObject
    hasMore: bool


class ExchangesParams(KeyParams):
    """With `tree`, also those of every session below it."""

    limit: Rows = 100
    tree: bool = False


class Exchanges(TypedDict):
    ts: int
    key: str
    exchanges: list[JsonObject]


EXPLAIN = Method(
    name="sessions.explain",
    about="Why a session is as it is, from the reasons that were stored when it happened.",
    params=ExplainParams,
    result=Explained,
    needs=Scope.READ,
)
TIMELINE = Method(
    name="sessions.timeline",
    about="What was said in a session, through every reset and compaction, whole and by a cursor.",
    params=TimelineParams,
    result=Timeline,
    needs=Scope.READ,
)
DENIALS = Method(
    name="sessions.denials",
    about="What was refused, and the rule that said so; to the owner everything, "
    "to others what was refused to them and says nothing of what they may not know of.",
    params=DenialsParams,
    result=Denials,
    needs=Scope.READ,
)
LEDGER = Method(
    name="sessions.ledger",
    about="What each call of a model cost, newest first; to the owner everything, to others what they caused.",
    params=LedgerParams,
    result=Ledger,
    needs=Scope.READ,
)
EXCHANGES = Method(
    name="sessions.exchanges",
    about="What a session sent to others and was sent by them, newest first, each with its receipt: waiting, delivered, read, replied or dead.",
    params=ExchangesParams,
    result=Exchanges,
    needs=Scope.READ,
)
