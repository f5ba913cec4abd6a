"""What models cost."""

from datetime import UTC, date, datetime, timedelta

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.ledger import LedgerTotal
from roost.core.queries import LedgerQuery, SessionQuery
from roost.core.sessions import Session
from roost.core.visibility import Operation, scope
from roost.protocol.families import sessions
from roost.server.calls import Call

_MICROS = 1_000_000
_DAYS = {"7d": 7, "30d": 30, "90d": 90, "1y": 365}
_DEFAULT_DAYS = 30
_MOST = 200


async def usage(call: Call, params: sessions.UsageParams) -> dict[str, JsonValue]:
    """What each session cost so far, newest first, and the sum of all within the days asked for."""
    house = call.house
    first, last = _days(params, house.clock.now())
    keys = None if params.key is None else frozenset({house.key(params.key, params.agent_id)})
    query = SessionQuery(
        scope=scope(Operation.LIST, call.caller),
        agent=params.agent_id,
        keys=keys,
        archived=None,
        limit=min(params.limit, _MOST),
    )
    page = await house.store.list_sessions(query)
    until = last + timedelta(days=1)
    principal = None if call.caller.rules_all else call.caller.principal
    spent = LedgerQuery(
        key=next(iter(keys)) if keys else None,
        agent=params.agent_id,
        principal=principal,
        since=_moment(first),
        until=_moment(until),
    )
    total = await house.store.usage(spent)
    return {
        "updatedAt": house.clock.now(),
        "startDate": first.isoformat(),
        "endDate": last.isoformat(),
        "sessions": [_row(session) for session in page.rows],
        "totals": _totals(total),
        "aggregates": {
            "sessionCount": len(page.rows),
            "messages": dict.fromkeys(
                ("total", "user", "assistant", "toolCalls", "toolResults", "errors"), 0
            ),
            "tools": {"totalCalls": 0, "uniqueTools": 0, "tools": []},
            "byModel": [],
            "byProvider": [],
            "byAgent": [],
            "byChannel": [],
            "costDaily": [],
            "daily": [],
        },
    }


def _row(session: Session) -> JsonObject:
    counters = session.counters
    return {
        "key": str(session.key),
        "sessionId": session.session_id,
        "scope": "instance",
        "updatedAt": session.times.updated,
        "agentId": session.key.agent,
        "usage": {
            "input": counters.input,
            "output": counters.output,
            "cacheRead": counters.cache_read,
            "cacheWrite": counters.cache_write,
            "totalTokens": counters.input + counters.output + counters.cache_read + counters.cache_write,
            "totalCost": counters.cost_micros / _MICROS,
        },
    }


def _totals(total: LedgerTotal) -> JsonObject:
    spent = total.usage
    return {
        "input": spent.input,
        "output": spent.output,
        "cacheRead": spent.cache_read,
        "cacheWrite": spent.cache_write,
        "totalTokens": spent.total,
        "totalCost": spent.cost_micros / _MICROS,
        "calls": total.calls,
    }


def _days(params: sessions.UsageParams, now: int) -> tuple[date, date]:
    today = datetime.fromtimestamp(now / 1000, UTC).date()
    last = _day(params.end_date) or today
    if params.start_date:
        return _day(params.start_date) or today, last
    if params.range == "all":
        return date(1970, 1, 1), last
    days = _DAYS[params.range] if params.range else _DEFAULT_DAYS
    return last - timedelta(days=days - 1), last


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise InvalidInput(
            f"invalid sessions.usage params: {text!r} is no day", hint="write 2026-01-31"
        ) from None


def _moment(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
