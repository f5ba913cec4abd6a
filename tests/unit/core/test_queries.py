"""What may be asked of a store; the rest of these values only declares."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from roost.core.entries import Entry
from roost.core.errors import InvalidInput
from roost.core.queries import HistoryQuery, SearchQuery, SessionContext, SessionQuery
from roost.core.runs import Progress
from roost.core.search import parse_query
from roost.testing import builders
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


def test_a_run_reads_what_was_there_when_it_took_what_it_answers() -> None:
    entries = tuple(
        Entry(session_id=session_id, seq=seq, id=f"{session_id}-{seq}", body=builders.said("e", "x").body)
        for session_id, seq in (("earlier", 7), ("now", 1), ("now", 2), ("now", 3))
    )
    context = SessionContext(session=builders.session(MAIN), entries=entries)
    run = replace(builders.run("r-1"), session_id="now")
    assert context.as_read_by(run) == context
    read = context.as_read_by(replace(run, progress=Progress(read_to=2)))
    assert [entry.id for entry in read.entries] == ["earlier-7", "now-1", "now-2"]
