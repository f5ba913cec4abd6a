"""What models cost."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.ledger import LedgerTotal, Spent
from roost.core.messages import Usage
from roost.core.queries import LedgerQuery, SessionQuery, Spoken
from roost.core.sessions import Session
from roost.core.visibility import Operation, scope
from roost.protocol.convert.facts import spent, totals
from roost.protocol.families import sessions
from roost.server.calls import Call

_FIRST_DAY = date(1970, 1, 1)
_DAYS = {"7d": 7, "30d": 30, "90d": 90, "1y": 365}
_DEFAULT_DAYS = 30
_MOST = 200


async def usage(call: Call, params: sessions.UsageParams) -> dict[str, JsonValue]:
    """What each session cost so far, newest first; within the days asked for, the sum of all and what it is made of."""
    house = call.house
    first, last = _days(params, house.clock.now())
    keys = None
    if params.key is not None:
        keys = frozenset({await house.meant(Operation.LIST, call.caller, params.key, params.agent_id)})
    query = SessionQuery(
        scope=scope(Operation.LIST, call.caller),
        agent=params.agent_id,
        keys=keys,
        archived=None,
        limit=min(params.limit, _MOST),
    )
    page = await house.store.list_sessions(query)
    until = last + timedelta(days=1)
    shown = frozenset(session.key for session in page.rows)
    principal = None if call.caller.rules_all else call.caller.principal
    wanted = LedgerQuery(
        key=next(iter(keys)) if keys else None,
        agent=params.agent_id,
        principal=principal,
        since=_moment(first),
        until=_moment(until),
    )
    groups = await house.store.spending(wanted)
    whole = _sum(groups)
    return {
        "updatedAt": house.clock.now(),
        "startDate": first.isoformat(),
        "endDate": last.isoformat(),
        "sessions": [_row(session) for session in page.rows],
        "totals": totals(whole),
        "aggregates": {
            "sessionCount": len(page.rows),
            **_said(await house.store.spoken(shown, _moment(first), _moment(until)), groups),
            "byModel": _apart(groups, lambda one: {"provider": one.provider, "model": one.model}),
            "byProvider": _apart(groups, lambda one: {"provider": one.provider}),
            "byAgent": _apart(groups, lambda one: {"agentId": one.agent}),
            **await _by_session(call, wanted, query, whole),
            "costDaily": _daily(groups),
        },
    }


async def _by_session(
    call: Call, wanted: LedgerQuery, listed: SessionQuery, whole: LedgerTotal
) -> JsonObject:
    """The sessions that cost most, as far as the caller may see them; those that are gone are among the others."""
    store = call.house.store
    dearest = await store.dearest(wanted, _MOST)
    keys = frozenset(one.key for one in dearest.sessions)
    there = {row.key for row in (await store.list_sessions(replace(listed, keys=keys, limit=_MOST))).rows}
    shown = [one for one in dearest.sessions if one.key in there][: listed.limit]
    rest = whole
    for one in shown:
        rest = rest.minus(one.total)
    return {
        "bySession": [
            {"key": str(one.key), "count": one.total.calls, "totals": totals(one.total)} for one in shown
        ],
        "otherSessions": {
            "sessions": dearest.count - len(shown),
            "count": rest.calls,
            "totals": totals(rest),
        },
    }


def _row(session: Session) -> JsonObject:
    counters = session.counters
    used = Usage(
        input=counters.input,
        output=counters.output,
        cache_read=counters.cache_read,
        cache_write=counters.cache_write,
        cost_micros=counters.cost_micros,
    )
    return {
        "key": str(session.key),
        "sessionId": session.session_id,
        "scope": "instance",
        "updatedAt": session.times.updated,
        "agentId": session.key.agent,
        "usage": spent(used),
    }


def _sum(groups: Iterable[Spent]) -> LedgerTotal:
    total = LedgerTotal()
    for one in groups:
        total = total.plus(one.total)
    return total


def _apart(groups: Sequence[Spent], name_of: Callable[[Spent], JsonObject]) -> list[JsonValue]:
    """The sum of each of those that are named alike, the dearest first."""
    names = {tuple(name_of(one).values()): name_of(one) for one in groups}
    sums = [
        (name, _sum(one for one in groups if tuple(name_of(one).values()) == values))
        for values, name in names.items()
    ]
    dearest = sorted(sums, key=lambda pair: (-pair[1].usage.cost_micros, -pair[1].calls))
    return [{**name, "count": total.calls, "totals": totals(total)} for name, total in dearest]


def _said(days: Sequence[Spoken], groups: Sequence[Spent]) -> JsonObject:
    """How much was said in the sessions that are shown, in all and day by day with what each day cost."""
    known = {one.day: one for one in days}
    rows = [known.get(day, Spoken(day=day)) for day in sorted({*known, *(one.day for one in groups)})]
    cost = {one.day: spent(_sum(it for it in groups if it.day == one.day).usage) for one in rows}
    daily: list[JsonValue] = [
        {
            "date": _date(one.day),
            "messages": one.user + one.assistant,
            "toolCalls": one.tools,
            "tokens": cost[one.day]["totalTokens"],
            "cost": cost[one.day]["totalCost"],
        }
        for one in rows
    ]
    user, assistant = sum(one.user for one in days), sum(one.assistant for one in days)
    tools = sum(one.tools for one in days)
    messages: JsonObject = {
        "total": user + assistant,
        "user": user,
        "assistant": assistant,
        "toolCalls": tools,
        "toolResults": tools,
    }
    return {"messages": messages, "daily": daily}


def _date(day: int) -> str:
    return (_FIRST_DAY + timedelta(days=day)).isoformat()


def _daily(groups: Sequence[Spent]) -> list[JsonValue]:
    """Those days on which something was spent."""
    days = sorted({one.day for one in groups})
    return [
        {
            "date": _date(day),
            **totals(_sum(one for one in groups if one.day == day)),
        }
        for day in days
    ]


def _days(params: sessions.UsageParams, now: int) -> tuple[date, date]:
    today = datetime.fromtimestamp(now / 1000, UTC).date()
    last = _day(params.end_date) or today
    if params.start_date:
        return _day(params.start_date) or today, last
    if params.range == "all":
        return _FIRST_DAY, last
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
