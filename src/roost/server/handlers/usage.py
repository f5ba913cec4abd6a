"""What models cost."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.ledger import Dearest, LedgerTotal, Spent
from roost.core.principals import Principal
from roost.core.queries import HistoryQuery, LedgerQuery, SessionQuery, Spoken
from roost.core.sessions import Session
from roost.core.visibility import Operation, scope
from roost.protocol.convert.facts import log_row, series, spent, totals
from roost.protocol.families import usage as family
from roost.protocol.families.usage import Cost, Log, Series
from roost.server.calls import Call

_FIRST_DAY, _LAST_DAY = date(1970, 1, 1), date(9998, 12, 31)
_DAYS = {None: 30, "7d": 7, "30d": 30, "90d": 90, "1y": 365}
MOST = 200


async def usage(call: Call, params: family.UsageParams) -> dict[str, JsonValue]:
    """What each session cost within the days asked for, newest first, the sum of all, and what it is made of."""
    house = call.house
    first, last = _days(params, _DAYS.get(params.range), house.clock.now())
    keys = None
    if params.key is not None:
        keys = frozenset({await house.meant(Operation.LIST, call.caller, params.key, params.agent_id)})
    query = SessionQuery(
        scope=scope(Operation.LIST, call.caller),
        agent=params.agent_id,
        keys=keys,
        archived=None,
        limit=min(params.limit, MOST),
    )
    page = await house.store.list_sessions(query)
    until = last + timedelta(days=1)
    shown = frozenset(session.key for session in page.rows)
    wanted = LedgerQuery(
        key=next(iter(keys)) if keys else None,
        agent=params.agent_id,
        principal=_whose(call),
        since=_moment(first),
        until=_moment(until),
    )
    groups = await house.store.spending(wanted)
    dearest = await house.store.dearest(wanted, MOST)
    return {
        "updatedAt": house.clock.now(),
        "startDate": first.isoformat(),
        "endDate": last.isoformat(),
        "sessions": [_row(one, await _cost_of(call, one.key, wanted, dearest)) for one in page.rows],
        "totals": totals(_sum(groups)),
        "aggregates": {
            "sessionCount": len(page.rows),
            **_said(await house.store.spoken(shown, _moment(first), _moment(until)), groups),
            "byModel": _apart(groups, lambda one: {"provider": one.provider, "model": one.model}),
            "byProvider": _apart(groups, lambda one: {"provider": one.provider}),
            "byAgent": _apart(groups, lambda one: {"agentId": one.agent}),
            **await _by_session(call, dearest, query, _sum(groups)),
            "costDaily": _daily(groups),
        },
    }


async def cost(call: Call, params: family.CostParams) -> Cost:
    now = call.house.clock.now()
    first, last = _days(params, params.days, now)
    wanted = LedgerQuery(
        agent=params.agent_id,
        principal=_whose(call),
        since=_moment(first),
        until=_moment(last + timedelta(days=1)),
    )
    groups = await call.house.store.spending(wanted)
    return Cost(
        updatedAt=now,
        days=max(0, (last - first).days + 1),
        daily=_daily(groups),
        totals=totals(_sum(groups)),
    )


async def timeseries(call: Call, params: family.SeriesParams) -> Series:
    house = call.house
    session = await house.found(Operation.STATUS, call.caller, params.key, params.agent_id)
    # Calls that are made meanwhile are in neither of the two.
    wanted = LedgerQuery(key=session.key, principal=_whose(call), until=house.clock.now() + 1)
    rows = await house.store.ledger(wanted, offset=0, limit=params.limit + 1)
    whole = await house.store.usage(wanted)
    return Series(
        sessionId=session.session_id,
        points=series(rows[: params.limit], whole),
        hasMore=len(rows) > params.limit,
    )


async def logs(call: Call, params: family.LogParams) -> Log:
    house = call.house
    session = await house.found(Operation.HISTORY, call.caller, params.key, params.agent_id)
    page = await house.store.history(HistoryQuery(key=session.key, limit=params.limit))
    rows = (log_row(entry.body, house.scanner) for entry in page.entries)
    return Log(logs=[row for row in rows if row is not None])


def _whose(call: Call) -> Principal | None:
    """The owner sees what everybody caused, others what they did."""
    return None if call.caller.rules_all else call.caller.principal


async def _cost_of(call: Call, key: SessionKey, wanted: LedgerQuery, dearest: Dearest) -> LedgerTotal:
    """What a session cost. Most often it is among the dearest, and else asked for only if not all of them are there."""
    for one in dearest.sessions:
        if one.key == key:
            return one.total
    if dearest.count == len(dearest.sessions):
        return LedgerTotal()
    return await call.house.store.usage(replace(wanted, key=key))


async def _by_session(call: Call, dearest: Dearest, listed: SessionQuery, whole: LedgerTotal) -> JsonObject:
    """The sessions that cost most, as far as the caller may see them; those that are gone are among the others."""
    store = call.house.store
    keys = frozenset(one.key for one in dearest.sessions)
    there = {row.key for row in (await store.list_sessions(replace(listed, keys=keys, limit=MOST))).rows}
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


def _row(session: Session, total: LedgerTotal) -> JsonObject:
    return {
        "key": str(session.key),
        "sessionId": session.session_id,
        "scope": "instance",
        "updatedAt": session.times.updated,
        "agentId": session.key.agent,
        "usage": spent(total.usage),
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


def _days(params: family.Span, length: int | None, now: int) -> tuple[date, date]:
    """From the first day to the last; without a first one so many, or all."""
    last = _day(params.end_date) or datetime.fromtimestamp(now / 1000, UTC).date()
    first = _FIRST_DAY if length is None else last - timedelta(days=length - 1)
    return _day(params.start_date) or first, last


def _day(text: str | None) -> date | None:
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        day = date.max
    if day is not None and not _FIRST_DAY <= day <= _LAST_DAY:
        raise InvalidInput(f"invalid params: {text!r} is no day", hint="write 2026-01-31")
    return day


def _moment(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
