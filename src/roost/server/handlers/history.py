"""What was said in a session."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from roost.core.entries import Entry
from roost.core.errors import InvalidInput
from roost.core.inbound import InboundRecord
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.queries import HistoryPage, HistoryQuery
from roost.core.sessions import Session
from roost.core.visibility import Operation
from roost.protocol.convert.messages import Past, past, waiting_row
from roost.protocol.convert.turns import Turn
from roost.protocol.families import chat
from roost.protocol.families.chat import History, Injected, Startup
from roost.protocol.frames import encode
from roost.server.calls import Call
from roost.server.fanout import Fanout
from roost.server.handlers.catalogue import agent_rows, command_rows, defaults, model_rows
from roost.server.handlers.places import place_of
from roost.server.house import House

NO_INPUTS: JsonObject = {"items": [], "total": 0}
MOST_WAITING = 20
MOST_WAITING_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The entries that a page may show, behind how many, and whether there may be older ones."""

    offset: int
    entries: tuple[Entry, ...]
    older: bool


class Shown(NamedTuple):
    page: HistoryPage
    span: Span
    past: Past


class Reading:
    def __init__(self, fanout: Fanout) -> None:
        self._fanout = fanout

    async def history(self, call: Call, params: chat.HistoryParams) -> History:
        """The newest page holds the conversation as it is now; older ones go on into those before it."""
        house = call.house
        session = await house.find(Operation.HISTORY, call.caller, params.session_key, params.agent_id)
        if session is None:
            key = house.key(params.session_key, params.agent_id)
            return History(
                sessionKey=str(key),
                messages=[],
                pendingInputs=NO_INPUTS,
                hasMore=False,
                totalMessages=0,
                defaults=defaults(call, key.agent),
            )
        # In this order: what a run reads in between is in one of the two.
        waiting = await house.store.pending_inputs(session.key)
        page, span, read = await self._around(call, session, params)
        more = span.older or read.entries < len(span.entries)
        found = History(
            sessionKey=str(session.key),
            sessionId=session.session_id,
            messages=read.rows,
            pendingInputs=_waiting(house, _unread(waiting, page), params),
            hasMore=more,
            totalMessages=session.summary.entries,
            defaults=defaults(call, session.key.agent),
            sessionInfo=house.rows.row(session),
        )
        if more:
            found["nextOffset"] = span.offset + max(read.entries, 1)
        if session.overrides.thinking is not None:
            found["thinkingLevel"] = session.overrides.thinking
        for turn in self._fanout.under_way(session.key):
            found["inFlightRun"] = _under_way(turn)
        return found

    async def startup(self, call: Call, params: chat.HistoryParams) -> Startup:
        read = await self.history(call, params)
        return Startup(**read, models=model_rows(call), commands=command_rows(), agents=agent_rows(call))

    async def inject(self, call: Call, params: chat.InjectParams) -> Injected:
        house = call.house
        key = await house.meant(Operation.PATCH, call.caller, params.session_key, params.agent_id)
        text = f"[{params.label}]\n\n{params.message}" if params.label else params.message
        entry_id = await house.engine.operations.note(call.caller, key, text)
        await self._fanout.telling.injected(key, entry_id, text)
        return Injected(ok=True, messageId=entry_id)

    async def _around(self, call: Call, session: Session, params: chat.HistoryParams) -> Shown:
        """Who asks for a message gets the page in the middle of which it stands, or that ends with it if only that fits."""
        if params.message_id is None:
            return await self._page(call, session, params, params.offset)
        if params.offset:
            raise InvalidInput("`offset` and `messageId` cannot be used together", hint="give one of them")
        place = await place_of(call, session, params.message_id, params.session_id)
        bare = params.session_id is None and place.newest != session.session_id
        here = params.session_id is not None or place.entry.session_id == session.session_id
        middle = max(place.newer - params.limit // 2 + bare, 0 if here else 1)
        shown = await self._page(call, session, params, middle)
        if any(one.id == place.entry.id for one in shown.span.entries[-shown.past.entries :]):
            return shown
        return await self._page(call, session, params, place.newer + bare)

    async def _page(self, call: Call, session: Session, params: chat.HistoryParams, offset: int) -> Shown:
        only = params.session_id or (None if offset else session.session_id)
        query = HistoryQuery(key=session.key, session_id=only, limit=params.limit + offset)
        page = await call.house.store.history(query)
        span = _span(page, session, params, offset)
        read = past(
            span.entries,
            page.generations if span.entries or not offset else (),
            call.house.sends.name,
            scanner=call.house.scanner,
            most_chars=params.max_chars,
            most_bytes=params.max_bytes,
        )
        return Shown(page, span, read)


def _span(page: HistoryPage, session: Session, params: chat.HistoryParams, offset: int) -> Span:
    """An offset counts entries from the newest on. A conversation that was begun and holds nothing yet counts as one, for
    its mark is a page of its own."""
    found = page.entries
    if not offset:
        others = params.session_id is None and any(one.previous for one in page.generations)
        return Span(offset=0, entries=found, older=page.before is not None or others)
    bare = params.session_id is None and bool(found) and found[-1].session_id != session.session_id
    behind = found[: max(0, len(found) - offset + bare)]
    shown = behind[-params.limit :]
    return Span(offset=offset, entries=shown, older=page.before is not None or len(shown) < len(behind))


def _unread(records: Sequence[InboundRecord], page: HistoryPage) -> Sequence[InboundRecord]:
    read = {entry.id for entry in page.entries}
    return [one for one in records if one.inbound.id not in read]


def _waiting(house: House, records: Sequence[InboundRecord], params: chat.HistoryParams) -> JsonObject:
    """What was said and no run has read yet, oldest first; of more than fit the newest, before a place if one is given."""
    before = len(records) + 1 if params.pending_before is None else params.pending_before
    items, room = list[JsonValue](), MOST_WAITING_BYTES
    for one in reversed(records[: before - 1][-MOST_WAITING:]):
        row = waiting_row(one, _name(house, one), params.max_chars, house.scanner)
        room -= len(encode(row))
        if room < 0 and items:
            break
        items.append(row)
    first = min(before, len(records) + 1) - len(items)
    earlier: dict[str, JsonValue] = {"nextBefore": first} if first > 1 else {}
    return {"items": items[::-1], "total": len(records), **earlier}


def _name(house: House, record: InboundRecord) -> str | None:
    """What its client calls it."""
    own = record.inbound.source.idempotency_key
    return own or (house.sends.name(record.run_id) if record.run_id else None)


def _under_way(turn: Turn) -> JsonObject:
    return {"runId": turn.name, "text": turn.unstored, "startedAt": turn.started_at, "events": []}
