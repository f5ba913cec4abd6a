"""Pages of sessions: what is on them, where they lead, and when they are whole texts already."""

import orjson

from roost.core.keys import SessionKey
from roost.core.listing import Overview, glance_at
from roost.core.queries import Page
from roost.core.references import Viewpoint
from roost.core.sessions import Labels
from roost.scanners.stdlib import StdlibScanner
from roost.testing.builders import MAIN, session
from roost.tools.sessionpages import PageShape, SessionPage

CHILD = SessionKey.parse("agent:main:subagent:one")
OTHERS = [SessionKey.named("main", name) for name in ("alpha", "beta", "gamma")]


def shape(*, search: str | None = None, alone: bool = True) -> PageShape:
    return PageShape(
        scanner=StdlibScanner(),
        transcript_path=lambda row: None,
        viewpoint=Viewpoint(agent="main", own=MAIN),
        search=search,
        titled=False,
        last=False,
        alone=alone,
    )


def overview(*keys: SessionKey, more: bool = False) -> Overview:
    rows = [session(key, parent=MAIN if key is CHILD else None) for key in keys]
    named = [row._replace(labels=Labels(label=row.key.text.rsplit(":", 1)[-1])) for row in rows]
    return Overview(page=Page(tuple(map(glance_at, named)), more=more), children={MAIN: [CHILD]})


def listed(page: SessionPage) -> list[object]:
    return [row["key"] for row in page.rows]


def test_a_page_of_which_no_more_is_to_be_said_is_a_text() -> None:
    page = shape().page(0, overview(MAIN, *OTHERS))
    assert page.text is not None
    rows = orjson.loads(b"[" + page.text + b"]")
    assert [row["key"] for row in rows] == ["main", *map(str, OTHERS)]
    assert rows[0]["childSessions"] == [str(CHILD)]
    assert (page.rows, page.offset_behind(4)) == ((), 4)


def test_a_page_to_which_something_is_added_is_rows() -> None:
    for one in (shape(alone=False), shape(search="m")):
        page = one.page(0, overview(MAIN))
        assert (page.text, listed(page)) == (None, ["main"])
    page = shape().page(0, overview(MAIN, CHILD))
    assert (page.text, listed(page), page.parents) == (None, ["main", str(CHILD)], {1: MAIN})


def test_a_page_that_has_no_room_is_rows() -> None:
    crowd = [SessionKey.named("main", f"{number}-{'x' * 400}") for number in range(200)]
    page = shape().page(0, overview(*crowd))
    assert (page.text, len(page.rows)) == (None, 200)


def test_rows_that_a_search_does_not_find_are_passed_over_and_counted() -> None:
    page = shape(search="beta").page(10, overview(*OTHERS, more=True))
    assert listed(page) == [str(OTHERS[1])]
    assert (page.offset_behind(1), page.offset_behind(0)) == (12, 10)


def test_joined_pages_keep_where_each_row_leads() -> None:
    searching = shape(search=":")
    first = searching.page(0, overview(*OTHERS[:1], more=True))
    page = first.joined(searching.page(1, overview(MAIN, CHILD)))
    assert listed(page) == [str(OTHERS[0]), "main", str(CHILD)]
    assert (page.parents, page.more, page.offset_behind(3)) == ({2: MAIN}, False, 3)


def test_the_first_rows_of_a_page_say_that_more_follow() -> None:
    page = shape(search=":").page(0, overview(MAIN, CHILD))
    assert (page.first(1).more, page.first(1).parents) == (True, {})
    assert (page.first(2).more, page.first(2).parents) == (False, {1: MAIN})
