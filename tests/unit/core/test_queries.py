"""What may be asked of a store; the rest of these values only declares."""

from collections.abc import Callable

import pytest

from roost.core.errors import InvalidInput
from roost.core.queries import HistoryQuery, SearchQuery, SessionQuery
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


BEGINNINGS: tuple[Callable[[int], object], ...] = (
    lambda offset: SessionQuery(offset=offset),
    lambda offset: SearchQuery(query=WORD, offset=offset),
)


@pytest.mark.parametrize("page", BEGINNINGS, ids=["list", "search"])
def test_a_page_begins_at_the_beginning_or_later(page: Callable[[int], object]) -> None:
    assert page(0) != page(1)
    with pytest.raises(InvalidInput, match="before the beginning"):
        page(-1)
