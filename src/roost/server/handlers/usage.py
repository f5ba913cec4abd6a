"""What models cost."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.ledger import Dearest, LedgerTotal, Spent
from roost.core.principals import Principal
from roost.core.queries import HistoryQuery, LedgerQuery, SessionQuery, Span, Spoken
from roost.core.sessions import Session
from roost.core.visibility import Operation, scope
from roost.protocol.convert.facts import log_row, series, spent, totals
from roost.protocol.families import usage as family
from roost.protocol.families.usage import Cost, Log, Series
from roost.server.calls import Call
from roost.server.handlers.days import date_of, days_of

_DAYS = {None: 30, "7d": 7, "30d": 30, "90d": 90, "1y": 365}
MOST = 200


async def usage(call: Call, params: family.UsageParams) -> dict[str, JsonValue]:
    """What each session cost within the days asked for, newest first, the sum of all, and what it is made of."""
    house = call.house
    now = house.clock.now()
    days = days_of(params, _DAYS.get(params.range), house.engine.rules.zone, now)
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
    wanted = LedgerQuery(
        key=next(iter(keys)) if keys else None,
        agent=params.agent_id,
        principal=_whose(call),
        since=days.since,
        until=days.until,
    )
    calendar = days.calendar(now)
    groups = await house.store.spending(wanted, calendar)
    # In what was not touched since, nothing was said since.
    active = replace(query, active_since=max(days.since, 0))
    talk = await house.store.spoken(active, Span(since=days.since, until=days.until, calendar=calendar))
    dearest = await house.store.dearest(wanted, MOST)
    costs = await _costs(call, page.rows, wanted)
    return {
        "updatedAt": now,
        "startDate": days.first.isoformat(),
        "endDate": days.last.isoformat(),
        "sessions": [_row(one, costs.get(one.key, LedgerTotal())) for one in page.rows],
        "totals": totals(_sum(groups)),
        "aggregates": {
            "sessionCount": talk.sessions,
            **_message_counts(talk.days, groups),
            "byModel": _apart(groups, lambda one: {"provider": one.provider, "model": one.model}),
            "byProvider": _apart(groups, lambda one: {"provider": one.provider}),
            "byAgent": _apart(groups, lambda one: {"agentId": one.agent}),
            **await _by_session(call, dearest, query, _sum(groups)),
            "costDaily": _daily(groups),
        },
    }


async def cost(call: Call, params: family.CostParams) -> Cost:
    now = call.house.clock.now()
    days = days_of(params, params.days, call.house.engine.rules.zone, now)
    wanted = LedgerQuery(
        agent=params.agent_id,
        principal=_whose(call),
        since=days.since,
        until=days.until,
    )
    groups = await call.house.store.spending(wanted, days.calendar(now))
    return Cost(
        updatedAt=now,
        days=max(0, (days.last - days.first).days + 1),
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


async def _costs(
    call: Call, sessions: Iterable[Session], wanted: LedgerQuery
) -> dict[SessionKey, LedgerTotal]:
    """What each of these sessions cost, if it did."""
    keys = frozenset(one.key for one in sessions)
    found = await call.house.store.dearest(replace(wanted, keys=keys), MOST)
    return {one.key: one.total for one in found.sessions}


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


def _message_counts(days: Sequence[Spoken], groups: Sequence[Spent]) -> JsonObject:
    """How much was said, in all and day by day with what each day cost."""
    known = {one.day: one for one in days}
    rows = [known.get(day, Spoken(day=day)) for day in sorted({*known, *(one.day for one in groups)})]
    cost = {one.day: spent(_sum(it for it in groups if it.day == one.day).usage) for one in rows}
    daily: list[JsonValue] = [
        {
            "date": date_of(one.day),
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


def _daily(groups: Sequence[Spent]) -> list[JsonValue]:
    """Those days on which something was spent."""
    days = sorted({one.day for one in groups})
    return [
        {
            "date": date_of(day),
            **totals(_sum(one for one in groups if one.day == day)),
        }
        for day in days
    ]
