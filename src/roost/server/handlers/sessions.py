"""Finding sessions, reading about them, and hearing of them."""

import re
from dataclasses import replace
from itertools import pairwise

from roost.core.errors import InvalidInput, NotFound
from roost.core.figures import MINUTE_MS
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import KeyKind, SessionKey
from roost.core.labels import called_by, read_label
from roost.core.listing import Glance
from roost.core.messages import AssistantMessage, UserMessage, text_of
from roost.core.prose import clean
from roost.core.queries import Cursor, HistoryQuery, SessionQuery
from roost.core.redaction import redact
from roost.core.sessions import Session, SessionKind
from roost.core.visibility import Operation, scope
from roost.protocol.convert.messages import past
from roost.protocol.families import sessions
from roost.protocol.families.sessions import (
    DEFAULT_ROWS,
    MOST_BYTES,
    MOST_ROWS,
    Described,
    Got,
    Listed,
    Previews,
    Resolved,
    Subscribed,
)
from roost.server.calls import Call
from roost.server.fanout import Fanout
from roost.server.handlers.catalogue import defaults

_MOST_CHARS = 100_000
MOST_NAMESAKES = 5
_KINDS = frozenset(SessionKind)
_UUID_PARTS = (0, 8, 12, 16, 20, 32)
_ENDS_IN_UUID = re.compile(r"(?:^|:)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$", re.ASCII | re.IGNORECASE)
_CURSOR = re.compile(r"(\d{1,15})\.(.+)", re.ASCII)


async def list_sessions(call: Call, params: sessions.ListParams) -> Listed:
    house = call.house
    limit = min(params.limit or DEFAULT_ROWS, MOST_ROWS)
    query = replace(
        await filtered(call, params),
        after=None if params.cursor is None else _cursor(params.cursor),
        offset=params.offset,
        limit=limit,
    )
    page = await house.store.glances(query)
    shown = len(page.rows)
    seen, walked = params.offset + shown, params.cursor is not None
    return Listed(
        ts=house.clock.now(),
        path=house.about.store_path,
        count=shown,
        totalCount=max(seen + page.more, await house.count(call.caller)) if page.more or walked else seen,
        limitApplied=limit,
        nextOffset=seen if page.more and not walked else None,
        nextCursor=_cursor_text(page.rows[-1]) if page.more else None,
        hasMore=page.more,
        owners=[],
        defaults=defaults(call, params.agent_id),
        sessions=house.rows.rows(
            page.rows, titles=params.include_derived_titles, last=params.include_last_message
        ),
    )


async def filtered(call: Call, params: sessions.Filter) -> SessionQuery:
    """The sessions that a list shows, or that are searched."""
    parent = await _parent(call, params.spawned_by)
    hidden = {KeyKind.UNKNOWN: not params.include_unknown, KeyKind.GLOBAL: not params.include_global}
    if params.exclude_subagents:
        hidden |= {KeyKind.SUBAGENT: True, KeyKind.ACP: True}
    now, seen = call.house.clock.now(), scope(Operation.LIST, call.caller)
    if params.configured_agents_only:
        seen = replace(seen, agents=frozenset({"", *call.house.engine.rules.commands.agents}))
    return SessionQuery(
        scope=seen,
        kinds=_KINDS - {SessionKind.CRON} if params.exclude_cron else None,
        agent=params.agent_id,
        label=None if params.label is None else _label(params.label),
        search=params.search or None,
        active_since=None if params.active_minutes is None else now - params.active_minutes * MINUTE_MS,
        parents=None if parent is None else frozenset({parent}),
        hidden=frozenset(kind for kind, hides in hidden.items() if hides),
        archived=None if params.archived == "all" else params.archived,
    )


def _cursor_text(last: Glance) -> str:
    return f"{last.times.updated}.{last.key}"


def _cursor(given: str) -> Cursor:
    written = _CURSOR.fullmatch(given)
    if written is None:
        raise InvalidInput(
            f"`cursor` {given[:40]!r} is none", hint="give back `nextCursor` as it was, or leave it out"
        )
    return Cursor(updated=int(written[1]), key=str(SessionKey.parse(written[2])))


async def _parent(call: Call, named: str | None) -> SessionKey | None:
    return None if named is None else await call.house.meant(Operation.LIST, call.caller, named)


async def describe(call: Call, params: sessions.DescribeParams) -> Described:
    # What was said shows in a title and in the last message.
    words = params.include_derived_titles or params.include_last_message
    operation = Operation.HISTORY if words else Operation.STATUS
    session = await call.house.find(operation, call.caller, params.key, params.agent_id)
    if session is None:
        return Described(session=None)
    row = call.house.rows.row(session, titles=params.include_derived_titles, last=params.include_last_message)
    return Described(session=row)


async def resolve(call: Call, params: sessions.ResolveParams) -> Resolved:
    """The session that is meant, by whichever name it was given."""
    try:
        session = await _meant(call, params)
    except NotFound:
        session = None
    parent = await _parent(call, params.spawned_by)
    if session is not None and parent not in (None, session.lineage.parent):
        session = None
    if session is None and params.allow_missing:
        return Resolved(ok=False)
    if session is None:
        named = params.reference.key if params.reference else None
        given = (params.key, params.session_id, params.label, params.short_id, named)
        raise NotFound(f"No session found: {next(filter(None, given), '')}")
    call.house.known(session.key)
    return Resolved(ok=True, key=str(session.key), agentId=_agent(call, session.key))


async def _meant(call: Call, params: sessions.ResolveParams) -> Session | None:
    house, caller = call.house, call.caller
    names = (params.key, params.session_id, params.label, params.reference, params.short_id)
    given = [one for one in names if one is not None]
    if len(given) != 1:
        raise InvalidInput(
            "invalid sessions.resolve params: exactly one of key, sessionId, label, reference, shortId is needed"
        )
    if params.session_id is not None:
        return await house.by_id(Operation.STATUS, caller, params.session_id, params.agent_id)
    if params.label is not None:
        return await _labelled(call, _label(params.label), params.agent_id)
    if params.short_id is not None:
        return await _short(call, params.short_id.lower(), params.agent_id)
    name = params.reference.key if params.reference else params.key or ""
    return await house.find(Operation.STATUS, caller, name, params.agent_id)


def _label(given: str) -> str:
    label = read_label(given)
    if label is None:
        raise InvalidInput("a label is more than spaces", hint="give one, or leave it out")
    return label


async def _labelled(call: Call, label: str, agent: str | None) -> Session | None:
    query = SessionQuery(
        scope=called_by(Operation.LIST, call.caller),
        label=label,
        agent=agent,
        archived=None,
        limit=MOST_NAMESAKES,
    )
    rows = (await call.house.store.list_sessions(query)).rows
    if len(rows) > 1:
        keys = ", ".join(sorted(str(row.key) for row in rows))
        raise InvalidInput(
            f"Multiple sessions found with label: {label} ({keys})", hint="name one by its key"
        )
    return rows[0] if rows else None


async def _short(call: Call, begin: str, agent: str | None) -> Session | None:
    query = SessionQuery(
        scope=called_by(Operation.LIST, call.caller),
        search="-".join(filter(None, (begin[start:end] for start, end in pairwise(_UUID_PARTS)))),
        agent=agent,
        archived=None,
        limit=MOST_ROWS,
    )
    rows = (await call.house.store.list_sessions(query)).rows
    found = [row for row in rows if (uuid := _ENDS_IN_UUID.search(str(row.key))) and _begins(uuid[1], begin)]
    if len(found) > 1:
        keys = ", ".join(sorted(str(row.key) for row in found[:MOST_NAMESAKES]))
        raise InvalidInput(f"Multiple sessions found with shortId: {begin} ({keys})", hint="give more of it")
    return found[0] if found else None


def _begins(uuid: str, begin: str) -> bool:
    return uuid.lower().replace("-", "").startswith(begin)


async def preview(call: Call, params: sessions.PreviewParams) -> Previews:
    previews = [await _preview(call, key, params) for key in params.keys]
    return Previews(ts=call.house.clock.now(), previews=previews)


async def _preview(call: Call, name: str, params: sessions.PreviewParams) -> JsonObject:
    try:
        session = await call.house.find(Operation.HISTORY, call.caller, name)
    except NotFound:
        session = None
    if session is None:
        return {"key": name, "status": "missing", "items": []}
    query = HistoryQuery(
        key=session.key, session_id=session.session_id, tools=False, limit=min(params.limit, 50)
    )
    page = await call.house.store.history(query)
    items: list[JsonValue] = [
        {
            "role": "user" if isinstance(body, UserMessage) else "assistant",
            "text": redact(text, call.house.scanner)[0][: params.max_chars],
        }
        for body in (entry.body for entry in page.entries)
        if isinstance(body, UserMessage | AssistantMessage) and (text := _text_for_people(body))
    ]
    return {"key": str(session.key), "status": "ok" if items else "empty", "items": items}


def _text_for_people(body: UserMessage | AssistantMessage) -> str:
    """What was meant for people, as a list shows it."""
    text = text_of(body).strip()
    return clean(text) if isinstance(body, AssistantMessage) else text


async def get(call: Call, params: sessions.GetParams) -> Got:
    session = await call.house.find(Operation.HISTORY, call.caller, params.key, params.agent_id)
    if session is None:
        return Got(messages=[])
    query = HistoryQuery(key=session.key, session_id=session.session_id, limit=min(params.limit, MOST_ROWS))
    page = await call.house.store.history(query)
    read = past(
        page.entries,
        (),
        call.house.sends.name,
        scanner=call.house.scanner,
        most_chars=_MOST_CHARS,
        most_bytes=MOST_BYTES,
    )
    return Got(messages=read.rows)


class Hearing:
    """Who is told of what as it happens."""

    def __init__(self, fanout: Fanout) -> None:
        self._fanout = fanout

    async def subscribe(self, call: Call, params: sessions.SubscribeParams) -> Subscribed:
        """With parameters also the list they ask for."""
        call.house.clients.watch(call.client)
        if not params.model_fields_set:
            return Subscribed(subscribed=True)
        return Subscribed(subscribed=True, list=await list_sessions(call, params))

    async def listen(self, call: Call, params: sessions.ListenParams) -> Subscribed:
        """To a session that need not exist yet."""
        session, key = await _heard(call, params)
        self._fanout.listen(call.client, session, key)
        told = Subscribed(subscribed=True, key=str(key))
        if params.include_approvals:
            replay: JsonObject = {
                "sessionKey": str(key),
                "updatedAtMs": call.house.clock.now(),
                "approvals": [],
                "truncated": False,
            }
            told["approvalReplay"] = replay
        return told

    async def unlisten(self, call: Call, params: sessions.KeyParams) -> Subscribed:
        _, key = await _heard(call, params)
        self._fanout.unlisten(call.client, key)
        return Subscribed(subscribed=False, key=str(key))


async def _heard(call: Call, params: sessions.KeyParams) -> tuple[Session | None, SessionKey]:
    session = await call.house.find(Operation.HISTORY, call.caller, params.key, params.agent_id)
    return session, call.house.key(params.key, params.agent_id) if session is None else session.key


def _agent(call: Call, key: SessionKey) -> str:
    return key.agent or call.house.engine.rules.routing.default_agent
