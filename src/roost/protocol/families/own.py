"""What only Roost can be asked: search over what was said, the tree of a session, what retention removes, and a session as files."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from roost.core.jsonvalue import JsonObject
from roost.core.search import LONGEST_QUERY
from roost.protocol.families.sessions import KeyParams
from roost.protocol.method import Method
from roost.protocol.params import AgentId, Count, Name, Params, SessionName
from roost.protocol.scopes import Scope

MOST_HITS = 100


class SearchParams(Params):
    """Every word must occur; a phrase stands in double quotes."""

    query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
    key: SessionName | None = None
    agent_id: AgentId | None = None
    offset: Count = 0
    limit: Annotated[int, Field(ge=1, le=MOST_HITS)] = 10


class Found(TypedDict):
    ts: int
    results: list[JsonObject]
    hasMore: bool


class Tree(TypedDict):
    """`tree` is a session row with its `children`, which are such rows too."""

    ts: int
    tree: JsonObject
    truncated: bool


class CleanupParams(Params):
    """`enforce` also where the policy only warns; the session `activeKey` is neither removed nor archived."""

    dry_run: bool = False
    enforce: bool = False
    active_key: SessionName | None = None


class Cleaned(TypedDict):
    """`stores` counts what `removed` and `archived` name."""

    dryRun: bool
    mode: Literal["enforce", "warn"]
    removed: list[str]
    archived: list[str]
    generations: int
    events: int
    records: int
    stores: list[JsonObject]


class ExportParams(KeyParams):
    """Without a `cursor` the first piece, and then with the `nextCursor` of the one before. `raw` leaves the secrets of the
    conversation as they are; those of the configuration are told to nobody."""

    raw: bool = False
    cursor: Name | None = None


class Exported(TypedDict):
    """The next bytes of the file `name`, in Base64: one transcript after the other, oldest first, until there is no
    `nextCursor`."""

    key: str
    name: str
    data: str
    nextCursor: str | None


SEARCH = Method(
    name="roost.search",
    about="Where something was said or answered by a tool, newest first, a page at a time, in the sessions the caller may read.",
    params=SearchParams,
    result=Found,
    needs=Scope.READ,
)
TREE = Method(
    name="sessions.tree",
    about="A session and all that was spawned below it.",
    params=KeyParams,
    result=Tree,
    needs=Scope.READ,
)
CLEANUP = Method(
    name="roost.cleanup",
    about="Removes what retention would remove, or says what that is.",
    params=CleanupParams,
    result=Cleaned,
    needs=Scope.ADMIN,
    owners=True,
)
EXPORT = Method(
    name="roost.export",
    about="The transcripts of a session as files, a piece of at most 1 MiB at a time.",
    params=ExportParams,
    result=Exported,
    needs=Scope.ADMIN,
    owners=True,
)
