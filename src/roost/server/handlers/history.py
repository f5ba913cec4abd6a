"""What was said in a session."""

from collections.abc import Sequence

from roost.core.inbound import InboundRecord
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.queries import HistoryPage, HistoryQuery
from roost.core.sessions import Session
from roost.core.visibility import Operation
from roost.protocol.convert.messages import past, waiting_row
from roost.protocol.convert.turns import Turn
from roost.protocol.families import chat
from roost.protocol.families.chat import History, Injected, Startup
from roost.server.calls import Call
from roost.server.fanout import Fanout
from roost.server.handlers.catalogue import agent_rows, command_rows, defaults, model_rows
from roost.server.house import House

NO_INPUTS: JsonObject = {"items": [], "total": 0}
MOST_WAITING = 20


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
                defaults=defaults(call),
            )
        # In this order: what a run reads in between is in one of the two.
        waiting = await house.store.pending_inputs(session.key)
        page = await self._page(call, session, params)
        entries = page.entries[: max(0, len(page.entries) - params.offset)]
        read = past(
            entries,
            page.generations if entries or not params.offset else (),
            house.sends.name,
            scanner=house.scanner,
            most_chars=params.max_chars,
            most_bytes=params.max_bytes,
        )
        earlier = any(one.previous for one in page.generations) and not params.offset
        more = page.before is not None or read.entries < len(entries) or earlier
        found = History(
            sessionKey=str(session.key),
            sessionId=session.session_id,
            messages=read.rows,
            pendingInputs=_waiting(house, _unread(waiting, page), params),
            hasMore=more,
            totalMessages=session.summary.entries,
            defaults=defaults(call),
            sessionInfo=house.rows.row(session),
        )
        if more:
            found["nextOffset"] = params.offset + read.entries
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

    async def _page(self, call: Call, session: Session, params: chat.HistoryParams) -> HistoryPage:
        only = params.session_id or (None if params.offset else session.session_id)
        query = HistoryQuery(key=session.key, session_id=only, limit=params.limit + params.offset)
        return await call.house.store.history(query)


def _unread(records: Sequence[InboundRecord], page: HistoryPage) -> Sequence[InboundRecord]:
    read = {entry.id for entry in page.entries}
    return [one for one in records if one.inbound.id not in read]


def _waiting(house: House, records: Sequence[InboundRecord], params: chat.HistoryParams) -> JsonObject:
    """What was said and no run has read yet, oldest first; of more than fit the newest, before a place if one is given."""
    before = len(records) + 1 if params.pending_before is None else params.pending_before
    shown = records[: before - 1][-MOST_WAITING:]
    first = min(before, len(records) + 1) - len(shown)
    items: list[JsonValue] = [
        waiting_row(one, _name(house, one), params.max_chars, house.scanner) for one in shown
    ]
    earlier: dict[str, JsonValue] = {"nextBefore": first} if first > 1 else {}
    return {"items": items, "total": len(records), **earlier}


def _name(house: House, record: InboundRecord) -> str | None:
    """What its client calls it."""
    own = record.inbound.source.idempotency_key
    return own or (house.sends.name(record.run_id) if record.run_id else None)


def _under_way(turn: Turn) -> JsonObject:
    return {"runId": turn.name, "text": turn.unstored, "startedAt": turn.started_at, "events": []}
