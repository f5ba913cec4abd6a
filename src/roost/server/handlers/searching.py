"""Where something was said, in the sessions that the caller may read."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from roost.core.errors import InvalidInput, NotFound
from roost.core.jsonvalue import JsonObject
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, UserMessage
from roost.core.passages import Passage, finding
from roost.core.queries import SearchQuery, SessionQuery
from roost.core.search import parse_query
from roost.core.visibility import Operation, scope
from roost.protocol.families import own
from roost.protocol.families import searching as family
from roost.protocol.families.own import Found
from roost.protocol.families.searching import MOST_HITS, Hits
from roost.server.calls import Call
from roost.server.handlers.sessions import filtered

STEP, MOST_PASSED_OVER = 50, 1_000

Wanted = Callable[[Sequence[Passage]], Awaitable[Sequence[Passage]]]


async def search_on(call: Call, params: own.SearchParams) -> Found:
    """A page, with what tools answered."""
    house, key = call.house, None
    if params.key is not None:
        key = (await house.found(Operation.SEARCH, call.caller, params.key, params.agent_id)).key
    query = replace(_query(call, params.query, params.agent_id), key=key)
    through = params.offset + params.limit
    found, more = await _findings(call, query, through, _unfiltered)
    results: list[JsonObject] = [
        {"key": str(one.hit.key), **_row(one, _role(one))} for one in found[params.offset : through]
    ]
    return Found(ts=house.clock.now(), results=results, hasMore=more)


async def search(call: Call, params: family.SearchParams) -> Hits:
    """The newest of what people and agents said."""
    if params.scope is not None and (params.agent_id or params.session_keys):
        raise InvalidInput(
            "`scope` goes with neither `agentId` nor `sessionKeys`", hint="leave one of them out"
        )
    query, shown = _query(call, params.query, params.agent_id), None
    if params.scope is not None:
        shown = await filtered(call, params.scope)
    found, more = list[Passage](), False
    for key in await _keys(call, params):
        wanted = Worded(call, shown).take
        some, others = await _findings(call, replace(query, key=key), params.limit, wanted)
        found, more = [*found, *some], more or others
    newest = sorted(found, key=lambda one: -one.hit.entry.body.at)
    results: list[JsonObject] = [
        {"sessionKey": str(one.hit.key), **_row(one, _role(one)), "score": 1 / (place + 1)}
        for place, one in enumerate(newest[: params.limit])
    ]
    hits = Hits(results=results)
    if more or len(newest) > params.limit:
        hits["truncated"] = True
    if shown is not None:
        keys = frozenset(one.hit.key for one in newest[: params.limit])
        page = await call.house.store.glances(replace(shown, keys=keys, limit=MOST_HITS))
        hits["sessions"] = call.house.rows.rows(page.rows)
    return hits


class Worded:
    """Takes what was said in words, in the sessions of a list if there is one."""

    def __init__(self, call: Call, shown: SessionQuery | None) -> None:
        self._store = call.house.store
        self._shown = shown

    async def take(self, found: Sequence[Passage]) -> Sequence[Passage]:
        said = [one for one in found if isinstance(one.hit.entry.body, UserMessage | AssistantMessage)]
        if self._shown is None or not said:
            return said
        keys = frozenset(one.hit.key for one in said)
        page = await self._store.list_sessions(replace(self._shown, keys=keys, limit=STEP))
        listed = {row.key for row in page.rows}
        return [one for one in said if one.hit.key in listed]


async def _unfiltered(found: Sequence[Passage]) -> Sequence[Passage]:
    return found


def _query(call: Call, words: str, agent: str | None) -> SearchQuery:
    seen = scope(Operation.SEARCH, call.caller)
    if agent is not None:
        seen = replace(seen, agents=frozenset({agent}) if seen.agents is None else seen.agents & {agent})
    return SearchQuery(query=parse_query(words), scope=seen, limit=STEP)


async def _keys(call: Call, params: family.SearchParams) -> Sequence[SessionKey | None]:
    """Those that are there; what is not the caller's is not there."""
    if params.session_keys is None:
        return [None]
    keys = list[SessionKey]()
    for name in dict.fromkeys(params.session_keys):
        try:
            session = await call.house.find(Operation.SEARCH, call.caller, name, params.agent_id)
        except NotFound:
            continue
        if session is not None and session.key not in keys:
            keys.append(session.key)
    return keys


async def _findings(call: Call, query: SearchQuery, most: int, wanted: Wanted) -> tuple[list[Passage], bool]:
    """So many of what may be read, and whether there may be more; hits that may not be are passed over."""
    found: list[Passage] = []
    while len(found) <= most and query.offset < most + MOST_PASSED_OVER:
        hits = await call.house.store.search(query)
        readable = (finding(hit, query.query, call.house.scanner) for hit in hits)
        found += await wanted([one for one in readable if one is not None])
        if len(hits) < query.limit:
            return found, len(found) > most
        query = replace(query, offset=query.offset + query.limit)
    return found, True


def _role(found: Passage) -> str:
    match found.hit.entry.body:
        case UserMessage():
            return "user"
        case AssistantMessage():
            return "assistant"
        case _:
            return "toolResult"


def _row(found: Passage, role: str) -> JsonObject:
    entry = found.hit.entry
    return {
        "sessionId": entry.session_id,
        "messageId": entry.id,
        "role": role,
        "timestamp": entry.body.at,
        "snippet": found.snippet,
    }
