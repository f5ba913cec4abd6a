"""What no store can answer is refused by all of them alike, and nothing is taken, left out or given instead."""

from collections.abc import Awaitable, Callable

import pytest

from roost.core.deliveries import DeliveryState
from roost.core.effects import AddDelivery
from roost.core.errors import InvalidInput
from roost.core.leases import Lease
from roost.core.queries import (
    MOST_ROWS,
    Cursor,
    HistoryQuery,
    LedgerQuery,
    Position,
    SearchQuery,
    SessionQuery,
    Span,
)
from roost.core.search import parse_query
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import change, opened

EVERY = LedgerQuery()
BEYOND = 2**63
LIMITED: dict[str, Callable[[Store, int], Awaitable[object]]] = {
    "deliveries": lambda store, limit: store.deliveries(DeliveryState.INTENT, limit),
    "denials": lambda store, limit: store.denials(limit),
    "events": lambda store, limit: store.events(MAIN, after=0, limit=limit),
    "news": lambda store, limit: store.news(MAIN, after=0, limit=limit),
    "ledger": lambda store, limit: store.ledger(EVERY, offset=0, limit=limit),
    "dearest": lambda store, limit: store.dearest(EVERY, limit),
    "due jobs": lambda store, limit: store.due_jobs(NOON, limit),
    "firings": lambda store, limit: store.firings(None, limit=limit),
    "exchanges of a session": lambda store, limit: store.exchanges_of(MAIN, limit),
    "exchanges with others": lambda store, limit: store.remote_exchanges(limit),
}
PAGED: dict[str, Callable[[Store, int], Awaitable[object]]] = {
    "sessions": lambda store, limit: store.list_sessions(SessionQuery(limit=limit)),
    "history": lambda store, limit: store.history(HistoryQuery(key=MAIN, limit=limit)),
    "search": lambda store, limit: store.search(SearchQuery(query=parse_query("hi"), limit=limit)),
}


@pytest.mark.parametrize("ask", [*LIMITED.values(), *PAGED.values()], ids=[*LIMITED, *PAGED])
@pytest.mark.parametrize("limit", [-1, -5, BEYOND, 10**30])
async def test_so_many_rows_cannot_be_asked_for(
    store: Store, ask: Callable[[Store, int], Awaitable[object]], limit: int
) -> None:
    await opened(store)
    with pytest.raises(InvalidInput, match="rows cannot be given"):
        await ask(store, limit)


@pytest.mark.parametrize("ask", LIMITED.values(), ids=LIMITED)
async def test_of_no_rows_and_of_very_many_there_is_an_answer(
    store: Store, ask: Callable[[Store, int], Awaitable[object]]
) -> None:
    await opened(store)
    await ask(store, 0)
    await ask(store, MOST_ROWS)


async def test_fewer_than_no_message_cannot_be_taken(store: Store, lease: Lease) -> None:
    await opened(store)
    await change(store, AddDelivery(delivery=builders.delivery("d-1")))
    with pytest.raises(InvalidInput, match="rows cannot be given"):
        await store.claim_deliveries(lease, -1)
    assert await store.claim_deliveries(lease, 0) == ()
    assert [one.id for one in await store.claim_deliveries(lease, 1)] == ["d-1"]


BEGUN_BEFORE: dict[str, Callable[[Store], Awaitable[object]]] = {
    "ledger": lambda store: store.ledger(EVERY, offset=-1, limit=1),
    "firings": lambda store: store.firings(None, limit=1, offset=-1),
}


@pytest.mark.parametrize("ask", BEGUN_BEFORE.values(), ids=BEGUN_BEFORE)
async def test_nothing_is_before_the_beginning(
    store: Store, ask: Callable[[Store], Awaitable[object]]
) -> None:
    await opened(store)
    with pytest.raises(InvalidInput, match="before the beginning"):
        await ask(store)


OVERSIZED: dict[str, Callable[[Store], Awaitable[object]]] = {
    "events": lambda store: store.events(MAIN, after=BEYOND, limit=1),
    "news": lambda store: store.news(MAIN, after=-BEYOND - 1, limit=1),
    "entries after": lambda store: store.entries("s", after=BEYOND),
    "entries through": lambda store: store.entries("s", through=BEYOND),
    "spoken": lambda store: store.spoken(SessionQuery(), Span(since=0, until=BEYOND)),
    "due jobs": lambda store: store.due_jobs(BEYOND, 1),
    "overdue runs": lambda store: store.overdue_runs(BEYOND),
    "ledger": lambda store: store.ledger(EVERY, offset=BEYOND, limit=1),
    "usage": lambda store: store.usage(LedgerQuery(since=BEYOND)),
    "spending": lambda store: store.spending(LedgerQuery(until=BEYOND)),
    "active sessions": lambda store: store.list_sessions(SessionQuery(active_since=BEYOND)),
    "sessions after": lambda store: store.list_sessions(
        SessionQuery(after=Cursor(updated=BEYOND, key="agent:main:main"))
    ),
    "history": lambda store: store.history(HistoryQuery(key=MAIN, before=Position(BEYOND, 1))),
}


@pytest.mark.parametrize("ask", OVERSIZED.values(), ids=OVERSIZED)
async def test_a_number_that_no_row_can_have_is_asked_of_none(
    store: Store, ask: Callable[[Store], Awaitable[object]]
) -> None:
    await opened(store)
    with pytest.raises(InvalidInput, match="too large a number"):
        await ask(store)
