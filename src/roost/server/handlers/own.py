"""What only Roost can be asked."""

from dataclasses import replace

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, UserMessage
from roost.core.passages import Passage, finding
from roost.core.queries import SearchQuery, SessionQuery
from roost.core.search import parse_query
from roost.core.sessions import Session
from roost.core.visibility import Operation, scope
from roost.protocol.families import own
from roost.protocol.families.own import Cleaned, Found, Tree
from roost.protocol.families.sessions import KeyParams
from roost.server.calls import Call

STEP, MOST_PASSED_OVER = 50, 1_000
MOST_NODES = 1_000


async def search(call: Call, params: own.SearchParams) -> Found:
    """Newest first, in the sessions the caller may read."""
    house, key = call.house, None
    if params.key is not None:
        key = (await house.found(Operation.SEARCH, call.caller, params.key, params.agent_id)).key
    query = SearchQuery(
        query=parse_query(params.query),
        scope=scope(Operation.SEARCH, call.caller),
        key=key,
        limit=STEP,
    )
    through = params.offset + params.limit
    found, more = await _findings(call, query, through)
    results = [_row(one) for one in found[params.offset : through]]
    return Found(ts=house.clock.now(), results=results, hasMore=more)


async def _findings(call: Call, query: SearchQuery, wanted: int) -> tuple[list[Passage], bool]:
    """So many of what may be read, and whether there may be more; hits that may not be are passed over."""
    found: list[Passage] = []
    while len(found) <= wanted and query.offset < wanted + MOST_PASSED_OVER:
        hits = await call.house.store.search(query)
        readable = (finding(hit, query.query, call.house.scanner) for hit in hits)
        found += [one for one in readable if one is not None]
        if len(hits) < query.limit:
            return found, len(found) > wanted
        query = replace(query, offset=query.offset + query.limit)
    return found, True


def _row(found: Passage) -> JsonObject:
    hit = found.hit
    match hit.entry.body:
        case UserMessage():
            role = "user"
        case AssistantMessage():
            role = "assistant"
        case _:
            role = "toolResult"
    return {
        "key": str(hit.key),
        "sessionId": hit.entry.session_id,
        "messageId": hit.entry.id,
        "role": role,
        "timestamp": hit.entry.body.at,
        "snippet": found.snippet,
    }


async def tree(call: Call, params: KeyParams) -> Tree:
    """A session and all that was spawned below it, as far as the caller may see."""
    house = call.house
    root = await house.found(Operation.LIST, call.caller, params.key, params.agent_id)
    found, truncated = await below(call, Operation.LIST, root)
    return Tree(ts=house.clock.now(), tree=_branch(call, root, found), truncated=truncated)


async def below(
    call: Call, operation: Operation, root: Session
) -> tuple[dict[SessionKey, list[Session]], bool]:
    """The children of each session, a generation a question, and whether there are more."""
    found: dict[SessionKey, list[Session]] = {}
    parents, room = frozenset({root.key}), MOST_NODES
    while parents and room:
        query = SessionQuery(scope=scope(operation, call.caller), parents=parents, archived=None, limit=room)
        page = await call.house.store.list_sessions(query)
        for row in sorted(page.rows, key=lambda row: (row.times.created, str(row.key))):
            if row.lineage.parent is not None:
                found.setdefault(row.lineage.parent, []).append(row)
        room -= len(page.rows)
        parents = frozenset(row.key for row in page.rows)
        if page.more:
            break
    return found, bool(parents)


def _branch(call: Call, session: Session, below: dict[SessionKey, list[Session]]) -> JsonObject:
    children: list[JsonValue] = [_branch(call, child, below) for child in below.get(session.key, ())]
    return {**call.house.rows.row(session, titles=True), "children": children}


async def cleanup(call: Call, params: own.CleanupParams) -> Cleaned:
    """What retention removes now, or would."""
    sweeper = call.house.engine.sweeper
    swept = await (sweeper.preview() if params.dry_run else sweeper.sweep())
    return Cleaned(
        dryRun=params.dry_run,
        removed=[str(key) for key in swept.sessions],
        archived=[str(key) for key in swept.archived],
        generations=swept.generations,
        events=swept.events,
        records=swept.records,
    )
