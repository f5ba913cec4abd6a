"""What may be asked of a store; the rest of these values only declares."""

from collections.abc import Callable

import pytest

from roost.core.errors import InvalidInput
from roost.core.figures import DAY_MS
from roost.core.queries import (
    MOST_ROWS,
    Calendar,
    Cursor,
    HistoryQuery,
    LedgerQuery,
    Position,
    SearchQuery,
    SessionQuery,
    Shift,
    Span,
    refuse_limit,
)
from roost.core.search import parse_query
from roost.testing.builders import MAIN

WORD = parse_query("zebra")
PAGES: tuple[Callable[[int], object], ...] = (
    lambda limit: SessionQuery(limit=limit),
    lambda limit: HistoryQuery(key=MAIN, limit=limit),
    lambda limit: SearchQuery(query=WORD, limit=limit),
)


@pytest.mark.parametrize("page", PAGES, ids=["list", "history", "search"])
def test_a_page_holds_at_least_one_row(page: Callable[[int], object]) -> None:
    page(1)
    for limit in (0, -1):
        with pytest.raises(InvalidInput, match="at least one"):
            page(limit)


@pytest.mark.parametrize("page", PAGES, ids=["list", "history", "search"])
def test_a_page_holds_no_more_rows_than_any_store(page: Callable[[int], object]) -> None:
    page(MOST_ROWS)
    with pytest.raises(InvalidInput, match="less than a billion"):
        page(MOST_ROWS + 1)


def test_of_other_rows_none_may_be_asked_for_but_not_fewer() -> None:
    refuse_limit(0)
    with pytest.raises(InvalidInput, match="ask for none"):
        refuse_limit(-1)


BEYOND = 2**63
OVERSIZED: tuple[Callable[[], object], ...] = (
    lambda: SessionQuery(offset=BEYOND),
    lambda: SessionQuery(active_since=BEYOND),
    lambda: SessionQuery(after=Cursor(updated=BEYOND, key="")),
    lambda: HistoryQuery(key=MAIN, before=Position(BEYOND, 1)),
    lambda: HistoryQuery(key=MAIN, before=Position(1, BEYOND)),
    lambda: LedgerQuery(since=BEYOND),
    lambda: LedgerQuery(until=BEYOND),
    lambda: Span(since=0, until=BEYOND),
    lambda: Calendar(ahead=BEYOND),
    lambda: Shift(since=BEYOND, ahead=0),
    lambda: Shift(since=0, ahead=BEYOND),
)


@pytest.mark.parametrize("question", OVERSIZED)
def test_a_question_has_numbers_of_at_most_64_bits(question: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match="64 bits"):
        question()


BEGINNINGS: tuple[Callable[[int], object], ...] = (
    lambda offset: SessionQuery(offset=offset),
    lambda offset: SearchQuery(query=WORD, offset=offset),
)


@pytest.mark.parametrize("page", BEGINNINGS, ids=["list", "search"])
def test_a_page_begins_at_the_beginning_or_later(page: Callable[[int], object]) -> None:
    assert page(0) != page(1)
    with pytest.raises(InvalidInput, match="before the beginning"):
        page(-1)


def test_a_day_is_that_of_the_clocks_of_its_time() -> None:
    assert [Calendar(ahead=1).day(at) for at in (-2, -1, DAY_MS - 2, DAY_MS - 1)] == [-1, 0, 0, 1]
    calendar = Calendar(ahead=1, shifts=(Shift(since=5, ahead=0), Shift(since=DAY_MS + 5, ahead=2)))
    assert [calendar.day(at) for at in (-1, DAY_MS - 1, DAY_MS)] == [0, 0, 1]
    assert [calendar.day(at) for at in (2 * DAY_MS - 3, 2 * DAY_MS - 2)] == [1, 2]
