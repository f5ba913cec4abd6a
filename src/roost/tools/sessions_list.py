"""`sessions_list`: the sessions an agent may see, newest first."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.labels import read_label
from roost.core.models import ToolSpec
from roost.core.queries import HistoryQuery, SessionQuery
from roost.core.recall import RecallOptions, recalled_to_json
from roost.core.redaction import SecretScanner
from roost.core.sessions import SessionKind
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.core.visibility import (
    ALLOW_SETTING,
    LEVEL_SETTING,
    AgentCaller,
    Level,
    Operation,
    kept_to_own_agent,
)
from roost.ports import Report
from roost.tools.access import Access
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import found_rows, looked_up, written
from roost.tools.readback import read_back
from roost.tools.sessionpages import ROOM, PageShape, Row, SessionPage, TranscriptPath

LIMIT, MOST = 100, 200
MOST_MESSAGES = 20
MOST_CHILDREN = 1_000
_MOST_MINUTES = 60 * 24 * 366 * 10
_MOST_ROWS = 1_000_000
_LONGEST_KIND, _LONGEST_SEARCH = 64, 512
_MINUTE = 60_000
_MOST_UNKNOWN = 10


class SessionsList:
    traits = ToolTraits(reenterable=True, parallel=True, recalls=True)
    spec = ToolSpec(
        name="sessions_list",
        description=(
            "List the sessions (conversations) you may see, newest activity first, as JSON: key, kind, channel, status, "
            "model, tokens, times, where answers go, parent and children. Give a row's `key` to the other session "
            "tools. `hasMore` and `nextOffset` say how to go on."
        ),
        parameters=object_schema(
            {
                "kinds": {
                    "type": "array",
                    "items": {"type": "string", "enum": [str(kind) for kind in SessionKind]},
                    "description": "Only sessions of these kinds. Default: all.",
                },
                "limit": {"type": "integer", "minimum": 1, "description": "Rows, at most 200. Default 100."},
                "offset": {"type": "integer", "minimum": 0, "description": "Rows to pass over. Default 0."},
                "activeMinutes": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Only sessions used within this many minutes.",
                },
                "messageLimit": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Add the last messages of each session, at most 20, without tool results. Default 0.",
                },
                "label": {"type": "string", "description": "Only the session with exactly this label."},
                "agentId": {"type": "string", "description": "Only sessions of exactly this agent."},
                "search": {
                    "type": "string",
                    "description": "Only sessions with this text in key, name or title.",
                },
                "includeDerivedTitles": {
                    "type": "boolean",
                    "description": "Add `derivedTitle`: its name, or what was said first. Default false.",
                },
                "includeLastMessage": {
                    "type": "boolean",
                    "description": "Add `lastMessagePreview`: what was said last. Default false.",
                },
            }
        ),
    )

    def __init__(self, access: Access, scanner: SecretScanner, transcript_path: TranscriptPath) -> None:
        self._access = access
        self._scanner = scanner
        self._transcript_path = transcript_path

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await looked_up(self._list(invocation))

    async def _list(self, invocation: Invocation) -> ToolOutcome:
        arguments = Arguments(self.spec, invocation.arguments)
        query = self._query(arguments, invocation)
        newest = arguments.whole("messageLimit", 0, least=0, most=MOST_MESSAGES)
        shape = PageShape(
            scanner=self._scanner,
            transcript_path=self._transcript_path,
            viewpoint=self._access.reach.viewpoint(invocation),
            search=query.search,
            titled=arguments.flag("includeDerivedTitles"),
            last=arguments.flag("includeLastMessage"),
            alone=not newest,
        )
        page = await self._found(query, shape)
        await self._name_parents(page, invocation)
        texts, count, omitted = await self._fitting(page, newest)
        cut = count < len(page.offsets)
        told: Row = {
            "count": count,
            "hasMore": page.more or cut,
            **({"nextOffset": page.offset_behind(count)} if page.more or cut else {}),
            "limitApplied": query.limit,
            **({"truncationReason": "byte-limit"} if cut else {}),
            **({"enrichmentOmitted": True} if omitted or page.childless else {}),
            **_unknown_kinds(arguments.texts("kinds")),
            **_restriction(self._access.reach.caller(invocation)),
        }
        return found_rows(told, "sessions", texts)

    def _query(self, arguments: Arguments, invocation: Invocation) -> SessionQuery:
        minutes = arguments.whole("activeMinutes", 0, least=0, most=_MOST_MINUTES)
        kinds = arguments.texts("kinds")
        return SessionQuery(
            scope=self._access.scope(Operation.LIST, invocation),
            hidden=self._access.reach.hidden,
            kinds=frozenset(kind for kind in SessionKind if kind in kinds) if kinds else None,
            agent=arguments.agent(),
            label=read_label(arguments.text_or("label", "")),
            search=_search(arguments),
            active_since=self._access.clock.now() - minutes * _MINUTE if minutes else None,
            offset=arguments.whole("offset", 0, least=0, most=_MOST_ROWS),
            limit=arguments.whole("limit", LIMIT, least=1, most=MOST),
        )

    async def _found(self, query: SessionQuery, shape: PageShape) -> SessionPage:
        """A page of rows. What matches a search only by words that are not shown is made up for by what follows."""
        store, offset = self._access.store, query.offset
        page = await store.overview(query, children=MOST_CHILDREN, show=partial(shape.page, offset))
        if query.search is None:
            return page
        while page.more and len(page.rows) <= query.limit:
            offset += query.limit
            behind, show = replace(query, offset=offset), partial(shape.page, offset)
            page = page.joined(await store.overview(behind, children=MOST_CHILDREN, show=show))
        return page.first(query.limit)

    async def _name_parents(self, page: SessionPage, invocation: Invocation) -> None:
        """Add where rows were spawned from; what the caller may not see is not named."""
        known = await self._access.visible(frozenset(page.parents.values()), invocation)
        for place, parent in page.parents.items():
            if parent in known:
                page.rows[place]["parentSessionKey"] = self._access.shown(parent, invocation)

    async def _fitting(self, page: SessionPage, newest: int) -> tuple[list[bytes], int, bool]:
        """As many rows as have room, as their JSON, how many, and whether one is without what made it too large."""
        if page.text is not None:
            return [page.text], len(page.offsets), False
        # Written at once they cost half of what each by itself would.
        if not newest and len(whole := written([*page.rows])) <= ROOM:
            return [whole[1:-1]], len(page.rows), False
        room = ROOM
        texts: list[bytes] = []
        omitted = False
        for key, row in zip(page.keys, page.rows, strict=True):
            if newest:
                row["messages"] = await self._messages(key, newest)
            text = written(row)
            if not texts and len(text) > room:
                text, omitted = written({**row, "childSessions": [], "messages": []}), True
            room -= len(text) + 1
            if room < 0:
                break
            texts.append(text)
        return texts, len(texts), omitted

    async def _messages(self, key: SessionKey, newest: int) -> list[JsonValue]:
        options = RecallOptions(scanner=self._scanner, newest=newest)
        back = await read_back(self._access.store, HistoryQuery(key=key), options)
        return [recalled_to_json(recalled) for recalled in back.page.messages]


def _search(arguments: Arguments) -> str | None:
    text = arguments.text_or("search", "").strip()
    if len(text) > _LONGEST_SEARCH:
        raise InvalidInput(f"`search` is longer than {_LONGEST_SEARCH} characters", hint="give less of it")
    return text or None


def _unknown_kinds(given: Sequence[str]) -> JsonObject:
    unknown = [kind[:_LONGEST_KIND] for kind in given if kind not in set(SessionKind)][:_MOST_UNKNOWN]
    return {"unknownKinds": unknown, "knownKinds": [*map(str, SessionKind)]} if unknown else {}


def _restriction(caller: AgentCaller) -> JsonObject:
    """What is left out and why, unless nothing is."""
    kept, allowed = kept_to_own_agent(caller), caller.a2a.allow
    if kept is None and allowed is None:
        return {}
    mode = caller.reach if kept is None else min(caller.reach, Level.AGENT)
    listed = {
        Level.SELF: "this session",
        Level.TREE: "sessions spawned from here"
        if caller.clamped
        else "this session and those spawned from it",
        Level.AGENT: f"sessions of agent {caller.agent} and those spawned from here",
        Level.ALL: f"sessions of agents {', '.join(sorted(allowed or ()))} and those spawned from here",
    }
    by_level = caller.clamped and caller.level <= caller.reach
    setting = ALLOW_SETTING if kept is None else LEVEL_SETTING if by_level else kept.setting
    warning = f"Only {listed[mode]} are listed; the owner can change {setting}."
    return {"visibility": {"mode": mode.name.lower(), "restricted": True, "warning": warning}}
