"""Why a session is as it is, and what happened in it from its beginning."""

from collections.abc import Sequence

from roost.core.commands import Aspect
from roost.core.entries import Entry
from roost.core.exchanges import Exchange
from roost.core.jsonvalue import JsonObject
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, ProvenanceKind
from roost.core.models import ModelRef
from roost.core.queries import DenialQuery, HistoryPage, HistoryQuery, LedgerQuery, Position
from roost.core.redaction import redact
from roost.core.runs import Cause, Request, Run, RunState
from roost.core.visibility import Operation
from roost.engine.explaining import Explainer, Inquiry
from roost.protocol.convert.facts import call_row, denial_row, exchange_row, totals
from roost.protocol.convert.messages import past
from roost.protocol.families import reasons
from roost.protocol.families.reasons import Denials, Exchanges, Explained, Ledger, Timeline
from roost.server.calls import Call
from roost.server.handlers.own import below

MOST_BYTES = 6 * 1024 * 1024


async def explain(call: Call, params: reasons.ExplainParams) -> Explained:
    session = await call.house.found(Operation.STATUS, call.caller, params.key, params.agent_id)
    now, who = call.house.clock.now(), call.caller.principal
    turn = Run(
        id=call.house.new_id(),
        key=session.key,
        state=RunState.QUEUED,
        cause=Cause(principal=who, kind=ProvenanceKind.HUMAN, trace=call.trace or ""),
        request=Request(),
        queued_at=now,
        ready_at=now,
    )
    inquiry = Inquiry(session=session, principal=who, at=now, turn=turn)
    explainer = Explainer(call.house.store, call.house.engine.rules)
    chosen = tuple(Aspect) if params.about is None else (params.about,)
    told = [(str(one), redact(await explainer.why(one, inquiry), call.house.scanner)[0]) for one in chosen]
    return Explained(
        ts=now,
        key=str(session.key),
        sessionId=session.session_id,
        reasons=[{"about": about, "text": text} for about, text in told],
    )


async def timeline(call: Call, params: reasons.TimelineParams) -> Timeline:
    house = call.house
    session = await call.house.found(Operation.HISTORY, call.caller, params.key, params.agent_id)
    query = HistoryQuery(key=session.key, before=_position(params.before), limit=params.limit)
    page = await house.store.history(query)
    read = past(
        page.entries,
        page.generations,
        house.sends.name,
        scanner=house.scanner,
        most_chars=params.max_chars,
        most_bytes=MOST_BYTES,
        reasons=await _takeovers(call, page.entries),
    )
    told = page.entries[len(page.entries) - read.entries :]
    more = page.before is not None or len(told) < len(page.entries)
    return Timeline(
        ts=house.clock.now(),
        key=str(session.key),
        sessionId=session.session_id,
        messages=[row for row in read.rows if _wanted(row, params)],
        before=_cursor(told[0], page) if more else None,
    )


async def _takeovers(call: Call, entries: Sequence[Entry]) -> dict[str, str]:
    """Why another model went on, by the entry it went on with, as far as that was the last to answer its run."""
    found, before = dict[str, str](), None
    for entry in entries:
        body = entry.body
        if not isinstance(body, AssistantMessage) or not body.model:
            continue
        model = str(ModelRef(body.provider, body.model))
        if model != before and entry.run_id is not None:
            run = await call.house.store.run(entry.run_id)
            outcome = None if run is None else run.outcome
            if outcome is not None and outcome.model == model and outcome.model_reason:
                found[entry.id] = redact(outcome.model_reason, call.house.scanner)[0]
        before = model
    return found


def _position(cursor: str | None) -> Position | None:
    if cursor is None:
        return None
    generation, _, seq = cursor.partition(":")
    return Position(int(generation), int(seq))


def _cursor(oldest: Entry, page: HistoryPage) -> str:
    number = next(one.number for one in page.generations if one.session_id == oldest.session_id)
    return f"{number}:{oldest.seq}"


def _wanted(row: JsonObject, params: reasons.TimelineParams) -> bool:
    at = row["timestamp"]
    assert isinstance(at, int)
    return (
        (not params.roles or row["role"] in params.roles)
        and (params.tool is None or row.get("toolName") == params.tool)
        and (not params.errors or row.get("isError") is True or row.get("stopReason") == "error")
        and (params.since is None or at >= params.since)
        and (params.until is None or at < params.until)
    )


async def denials(call: Call, params: reasons.DenialsParams) -> Denials:
    """The owner sees what was refused to anybody, others what was refused to them and is not hidden."""
    key = None
    if params.key is not None:
        key = (await call.house.found(Operation.STATUS, call.caller, params.key, params.agent_id)).key
    query = DenialQuery(told=None if call.caller.rules_all else call.caller.principal, caller=key)
    found = await call.house.store.denials(params.limit, query)
    return Denials(ts=call.house.clock.now(), denials=[denial_row(one, call.house.scanner) for one in found])


async def ledger(call: Call, params: reasons.LedgerParams) -> Ledger:
    """The owner sees every call of a model, others those they caused."""
    key = None
    if params.key is not None:
        key = (await call.house.found(Operation.STATUS, call.caller, params.key, params.agent_id)).key
    query = LedgerQuery(
        key=None if params.tree else key,
        tree_of=key if params.tree else None,
        agent=params.agent_id if key is None else None,
        principal=None if call.caller.rules_all else call.caller.principal,
        since=params.since,
        until=params.until,
    )
    store = call.house.store
    rows = await store.ledger(query, offset=params.offset, limit=params.limit + 1)
    return Ledger(
        ts=call.house.clock.now(),
        calls=[call_row(row) for row in rows[: params.limit]],
        totals=totals(await store.usage(query)),
        hasMore=len(rows) > params.limit,
    )


async def exchanges(call: Call, params: reasons.ExchangesParams) -> Exchanges:
    session = await call.house.found(Operation.HISTORY, call.caller, params.key, params.agent_id)
    keys = [session.key]
    if params.tree:
        children, _ = await below(call, Operation.HISTORY, session)
        keys += [child.key for siblings in children.values() for child in siblings]
    found: dict[str, tuple[Exchange, SessionKey]] = {}
    for key in keys:
        for exchange in await call.house.store.exchanges_of(key, params.limit):
            found.setdefault(exchange.id, (exchange, key))
    newest = sorted(found.values(), key=lambda pair: pair[0].created_at, reverse=True)[: params.limit]
    return Exchanges(
        ts=call.house.clock.now(),
        key=str(session.key),
        exchanges=[exchange_row(exchange, key, call.house.scanner) for exchange, key in newest],
    )
