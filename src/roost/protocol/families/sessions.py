"""Sessions: finding them, reading about them, and hearing of them."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import LONGEST_TEXT as LONGEST_KEY
from roost.protocol.method import Method
from roost.protocol.params import AgentId, Count, Name, Params, Positive, SessionName, Short
from roost.protocol.scopes import Scope

DEFAULT_ROWS, MOST_ROWS = 100, 1_000
MOST_BYTES = 6 * 1024 * 1024
MOST_PREVIEWED = 64

SessionNames = Annotated[tuple[SessionName, ...], Field(strict=False)]
# A moment and the key of a session.
Cursor = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY + 32)]


class Filter(Params):
    """Which sessions."""

    active_minutes: Positive | None = None
    include_global: bool = True
    include_unknown: bool = False
    exclude_subagents: bool = False
    exclude_cron: bool = False
    configured_agents_only: bool = False
    label: Name | None = None
    spawned_by: SessionName | None = None
    agent_id: AgentId | None = None
    search: Short | None = None
    archived: bool | Literal["all"] = False


class ListParams(Filter):
    """`ownerFirst`, people and summaries of activity change nothing: there is one owner, and none are kept. `cursor` is the
    `nextCursor` of the page before: however many came before it, and whatever moved meanwhile, the page begins after
    the session that one ended with. With it there is no `nextOffset`."""

    limit: Positive | None = None
    offset: Count = 0
    cursor: Cursor | None = None
    include_derived_titles: bool = False
    include_last_message: bool = False
    include_activity_summary: bool = False
    owner_first: bool = False
    include_people: bool = False
    sort_by: Literal["updatedAt"] = "updatedAt"


class Listed(TypedDict):
    ts: int
    path: str
    count: int
    totalCount: int
    limitApplied: int
    nextOffset: int | None
    nextCursor: str | None
    hasMore: bool
    owners: list[JsonValue]
    defaults: JsonObject
    sessions: list[JsonObject]


class KeyParams(Params):
    key: SessionName
    agent_id: AgentId | None = None


class DescribeParams(KeyParams):
    include_derived_titles: bool = False
    include_last_message: bool = False


class Described(TypedDict):
    session: JsonObject | None


class Reference(Params):
    key: SessionName
    slug: Name | None = None


class ResolveParams(Params):
    """`shortId` is how the UUID begins that a key ends with, without its dashes."""

    key: SessionName | None = None
    session_id: Name | None = None
    label: Name | None = None
    reference: Reference | None = None
    short_id: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8,32}$", max_length=32)] | None = None
    agent_id: AgentId | None = None
    spawned_by: SessionName | None = None
    include_global: bool = True
    include_unknown: bool = False
    allow_missing: bool = False


class Resolved(TypedDict, total=False):
    ok: bool
    key: str
    agentId: str


class PreviewParams(Params):
    keys: Annotated[SessionNames, Field(max_length=MOST_PREVIEWED)]
    limit: Positive = 12
    max_chars: Annotated[int, Field(ge=20)] = 240


class Previews(TypedDict):
    ts: int
    previews: list[JsonObject]


class GetParams(KeyParams):
    limit: Positive = 200


class Got(TypedDict):
    messages: list[JsonObject]


class SubscribeParams(ListParams):
    pass


class Subscribed(TypedDict, total=False):
    subscribed: bool
    key: str
    list: Listed
    approvalReplay: JsonObject


class ListenParams(KeyParams):
    include_approvals: bool = False


LIST = Method(
    name="sessions.list",
    about="Sessions the caller may see, newest activity first, a page at a time.",
    params=ListParams,
    result=Listed,
    needs=Scope.READ,
)
DESCRIBE = Method(
    name="sessions.describe",
    about="One session as a row; null where there is none.",
    params=DescribeParams,
    result=Described,
    needs=Scope.READ,
)
RESOLVE = Method(
    name="sessions.resolve",
    about="The key of a session that is meant by a key, an id or a label.",
    params=ResolveParams,
    result=Resolved,
    needs=Scope.READ,
    hidden=True,
)
PREVIEW = Method(
    name="sessions.preview",
    about="The last words of several sessions.",
    params=PreviewParams,
    result=Previews,
    needs=Scope.READ,
)
GET = Method(
    name="sessions.get",
    about="The newest messages of a session's conversation, as many as fit into 6 MiB.",
    params=GetParams,
    result=Got,
    needs=Scope.READ,
)
SUBSCRIBE = Method(
    name="sessions.subscribe",
    about="From now on `sessions.changed`; with parameters also the list they ask for.",
    params=SubscribeParams,
    result=Subscribed,
    needs=Scope.READ,
)
LISTEN = Method(
    name="sessions.messages.subscribe",
    about="From now on `session.message` and `session.tool` of a session, which need not exist yet; "
    "of at most 2,000 on one connection.",
    params=ListenParams,
    result=Subscribed,
    needs=Scope.READ,
)
UNLISTEN = Method(
    name="sessions.messages.unsubscribe",
    about="No more of them.",
    params=KeyParams,
    result=Subscribed,
    needs=Scope.READ,
)
