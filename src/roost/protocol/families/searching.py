"""Search over what people and agents said."""

from typing import Annotated, Required, TypedDict

from pydantic import Field

from roost.core.jsonvalue import JsonObject
from roost.core.search import LONGEST_QUERY
from roost.protocol.families.sessions import Filter, SessionNames
from roost.protocol.method import Method
from roost.protocol.params import AgentId, Params
from roost.protocol.scopes import Scope

MOST_SEARCHED, MOST_HITS = 200, 25


class SearchParams(Params):
    """Every word must occur; a phrase stands in double quotes. Either in `agentId` and `sessionKeys`, or in the sessions of
    a `scope`."""

    query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
    agent_id: AgentId | None = None
    session_keys: Annotated[SessionNames, Field(min_length=1, max_length=MOST_SEARCHED)] | None = None
    scope: Filter | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_HITS)] = 10


class Hits(TypedDict, total=False):
    """`score` falls with each. `sessions` are the rows of those they are in, where a `scope` was asked for; `truncated` says
    that there are more."""

    results: Required[list[JsonObject]]
    sessions: list[JsonObject]
    truncated: bool


SEARCH = Method(
    name="sessions.search",
    about="Where people and agents said something, newest first, in the sessions the caller may read.",
    params=SearchParams,
    result=Hits,
    needs=Scope.READ,
)
