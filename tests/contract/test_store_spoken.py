"""How much was said."""

import pytest

from roost.core.entries import EntryDraft
from roost.core.figures import DAY_MS, HOUR_MS
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, Body, Text, ToolResult, UserMessage
from roost.core.queries import Calendar, Cursor, SessionQuery, Shift, Span, Spoken, Talk
from roost.core.visibility import VisibleScope
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import HUMAN, MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import opened
from tests.samples import ALICE

SIDE = SessionKey.named("main", "side")
TODAY = NOON // DAY_MS
WHOLE = Span(since=0, until=NOON + 2 * DAY_MS)


async def said(store: Store, key: SessionKey, *bodies: Body) -> None:
    for number, body in enumerate(bodies):
        await store.append(key, (EntryDraft(id=f"{key}-{number}", body=body),))


def word(at: int) -> UserMessage:
    return UserMessage(content=(Text("hi"),), at=at, provenance=HUMAN)


def only(*keys: SessionKey) -> SessionQuery:
    return SessionQuery(keys=frozenset(keys))


async def talked(store: Store) -> None:
    await opened(store)
    await opened(store, row=builders.session(SIDE, owner=ALICE))
    for key in (MAIN, SIDE):
        answer = AssistantMessage(content=(Text("yes"),), at=NOON + 1)
        result = ToolResult(call_id="c", tool="t", content=(), at=NOON + 2)
        await said(store, key, word(NOON), answer, result, word(NOON + DAY_MS))


async def test_what_was_said_in_some_sessions_is_counted_day_by_day(store: Store) -> None:
    await talked(store)
    assert await store.spoken(only(MAIN), WHOLE) == Talk(
        sessions=1,
        days=(Spoken(day=TODAY, user=1, assistant=1, tools=1), Spoken(day=TODAY + 1, user=1)),
    )
    both = await store.spoken(only(MAIN, SIDE), Span(since=NOON + 1, until=NOON + DAY_MS))
    assert both == Talk(sessions=2, days=(Spoken(day=TODAY, assistant=2, tools=2),))
    assert await store.spoken(only(), WHOLE) == Talk(sessions=0, days=())


@pytest.mark.requirement("F5")
async def test_what_was_said_is_counted_in_the_sessions_that_a_list_would_show(store: Store) -> None:
    await talked(store)
    hers = SessionQuery(scope=VisibleScope(agents=None, owner=ALICE))
    assert [one.key for one in (await store.list_sessions(hers)).rows] == [SIDE]
    assert await store.spoken(hers, WHOLE) == await store.spoken(only(SIDE), WHOLE)
    assert (await store.spoken(SessionQuery(agent="ops"), WHOLE)).sessions == 0
    assert (await store.spoken(SessionQuery(archived=True), WHOLE)).days == ()
    assert (await store.spoken(SessionQuery(active_since=NOON + DAY_MS), WHOLE)).sessions == 0


async def test_what_was_said_is_counted_on_every_page_of_a_list(store: Store) -> None:
    await talked(store)
    (last,) = (await store.list_sessions(SessionQuery(offset=1))).rows
    place = Cursor(updated=last.times.updated, key=str(last.key))
    for page in (SessionQuery(limit=1), SessionQuery(offset=1), SessionQuery(after=place)):
        assert await store.spoken(page, WHOLE) == await store.spoken(only(MAIN, SIDE), WHOLE)


async def test_days_are_those_of_clocks_that_are_set_meanwhile(store: Store) -> None:
    await opened(store)
    begins = TODAY * DAY_MS
    calendar = Calendar(
        ahead=2 * HOUR_MS,
        shifts=(
            Shift(since=begins + 4 * HOUR_MS, ahead=HOUR_MS),
            Shift(since=begins + DAY_MS, ahead=-HOUR_MS),
            Shift(since=begins + DAY_MS, ahead=0),
        ),
    )
    moments = [
        begins - 2 * HOUR_MS - 1,
        begins - 2 * HOUR_MS,
        begins + 4 * HOUR_MS - 1,
        begins + 23 * HOUR_MS - 1,
        begins + 23 * HOUR_MS,
        begins + DAY_MS,
    ]
    await said(store, MAIN, *map(word, moments))
    told = await store.spoken(only(MAIN), Span(since=0, until=begins + 2 * DAY_MS, calendar=calendar))
    assert [(one.day - TODAY, one.user) for one in told.days] == [(-1, 1), (0, 3), (1, 2)]
    assert [calendar.day(at) - TODAY for at in moments] == [-1, 0, 0, 0, 1, 1]
