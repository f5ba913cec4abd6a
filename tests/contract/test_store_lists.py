"""Lists of sessions: what is asked for and may be seen, in order, page by page."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import pytest

from roost.core.addresses import Address, Origin
from roost.core.announce import subagent_task_message
from roost.core.effects import Archive, ChangeSession
from roost.core.errors import Conflict
from roost.core.keys import KeyKind, SessionKey
from roost.core.listing import Overview, glance_at
from roost.core.principals import OWNER, Principal, person
from roost.core.queries import Cursor, Page, SessionQuery
from roost.core.sessions import (
    Counters,
    Facts,
    Labels,
    Lineage,
    Overrides,
    SendOverride,
    Session,
    SessionKind,
    SessionStatus,
    Summary,
)
from roost.core.terms import SpawnMode, Terms
from roost.core.visibility import EVERYTHING, Target, VisibleScope
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import change, known, opened, reset

ALICE, BOB = person("telegram", "1"), person("telegram", "2")
OPS = SessionKey.named("ops", "main")
GROUP = SessionKey.parse("agent:main:telegram:group:77")
CRON = SessionKey.parse("agent:ops:cron:nightly")
ALICES = SessionKey.parse("agent:main:telegram:direct:1")
CHILD = SessionKey.parse("agent:main:subagent:one")
GRANDCHILD = SessionKey.parse("agent:ops:subagent:two")
SIBLING = SessionKey.parse("agent:main:subagent:three")

# Key, owner, kind, parent, label, minutes since noon, archived.
Line = tuple[SessionKey, Principal, SessionKind, SessionKey | None, str | None, int, bool]
TREE: tuple[Line, ...] = (
    (MAIN, OWNER, SessionKind.MAIN, None, "home", 9, False),
    (OPS, OWNER, SessionKind.MAIN, None, None, 9, False),
    (GROUP, OWNER, SessionKind.GROUP, None, "team", 7, False),
    (CRON, OWNER, SessionKind.CRON, None, None, 3, False),
    (ALICES, ALICE, SessionKind.OTHER, None, "home", 8, False),
    (CHILD, ALICE, SessionKind.OTHER, ALICES, None, 8, False),
    (GRANDCHILD, ALICE, SessionKind.OTHER, CHILD, "deep", 1, False),
    (SIBLING, BOB, SessionKind.OTHER, MAIN, None, 2, True),
)
SCOPES = (
    EVERYTHING,
    VisibleScope(),
    VisibleScope(self_key=ALICES),
    VisibleScope(self_key=CHILD, tree_of=CHILD),
    VisibleScope(tree_of=ALICES),
    VisibleScope(agents=frozenset({"main"})),
    VisibleScope(agents=frozenset({"main", "ops"}), owner=ALICE),
    VisibleScope(agents=frozenset({"ops"}), owner=ALICE, self_key=MAIN, tree_of=MAIN),
    VisibleScope(agents=None, owner=ALICE),
    VisibleScope(agents=None, owner=BOB, self_key=OPS, tree_of=CHILD),
)
FILTERS = (
    SessionQuery(archived=None),
    SessionQuery(),
    SessionQuery(archived=True),
    SessionQuery(kinds=frozenset({SessionKind.MAIN, SessionKind.CRON}), archived=None),
    SessionQuery(kinds=frozenset()),
    SessionQuery(agent="main"),
    SessionQuery(label="home"),
    SessionQuery(search="SUBAGENT", archived=None),
    SessionQuery(active_since=NOON + 8 * 60_000),
    SessionQuery(parents=frozenset({MAIN, CHILD}), archived=None),
    SessionQuery(parents=frozenset()),
    SessionQuery(keys=frozenset({MAIN, SIBLING, SessionKey.named("main", "nowhere")}), archived=None),
    SessionQuery(keys=frozenset()),
    SessionQuery(hidden=frozenset({KeyKind.SUBAGENT, KeyKind.GLOBAL})),
    SessionQuery(agent="main", label="home", parents=None, search="telegram"),
)


async def planted(store: Store) -> list[Session]:
    """The tree as rows, in the order in which a list shows them."""
    for key, owner, kind, parent, label, minutes, archived in TREE:
        row = builders.session(key, at=NOON, owner=owner, parent=parent)
        await opened(store, row=row._replace(facts=Facts(kind=kind), labels=Labels(label=label)))
        await change(store, ChangeSession(key=key, touched=NOON + minutes * 60_000), key=key)
        if archived:
            await change(store, Archive(key=key, at=NOON), key=key)
    rows = [await known(store, line[0]) for line in TREE]
    return sorted(rows, key=lambda row: (-row.times.updated, str(row.key)))


def as_it_is(overview: Overview) -> Overview:
    return overview


def conditions(query: SessionQuery) -> Iterator[Callable[[Session], bool]]:
    """Every filter of a query in the plainest words."""
    kinds, since, text = query.kinds, query.active_since, query.search
    if kinds is not None:
        yield lambda row: row.facts.kind in kinds
    if query.agent is not None:
        yield lambda row: row.key.agent == query.agent
    if query.label is not None:
        yield lambda row: row.labels.label == query.label
    if text is not None:
        yield lambda row: text.lower() in str(row.key)
    if since is not None:
        yield lambda row: row.times.updated >= since
    if (keys := query.keys) is not None:
        yield lambda row: row.key in keys
    if (parents := query.parents) is not None:
        yield lambda row: row.lineage.parent in parents
    yield lambda row: row.key.kind not in query.hidden
    if query.archived is not None:
        yield lambda row: (row.times.archived is not None) == query.archived


async def listed(store: Store, query: SessionQuery) -> list[str]:
    return [str(row.key) for row in (await store.list_sessions(query)).rows]


@pytest.mark.requirement("P8", "P17", "D55")
async def test_a_list_holds_what_every_filter_and_the_scope_admit(store: Store) -> None:
    rows = await planted(store)
    above = {row.key: await store.ancestors(row.key) for row in rows}
    for query, scope in product(FILTERS, SCOPES):
        expected = [
            str(row.key)
            for row in rows
            if all(holds(row) for holds in conditions(query))
            and scope.admits(
                Target(key=row.key, agent=row.key.agent, owner=row.owner, ancestors=above[row.key])
            )
        ]
        assert await listed(store, replace(query, scope=scope)) == expected, (query, scope)


async def test_a_row_of_a_list_is_the_session_itself(store: Store) -> None:
    rows = await planted(store)
    page = await store.list_sessions(SessionQuery(archived=None))
    assert page.rows == tuple(rows)
    assert not page.more


@pytest.mark.requirement("P8", "D55")
async def test_an_overview_shows_of_a_list_what_is_shown_of_each_and_the_children_in_scope(
    store: Store,
) -> None:
    await planted(store)
    for query, scope, limit in product(FILTERS, SCOPES, (1, 100)):
        asked = replace(query, scope=scope, limit=limit)
        whole = await store.list_sessions(asked)
        keys = frozenset(row.key for row in whole.rows)
        below = await store.list_sessions(SessionQuery(scope=scope, parents=keys))
        children: dict[SessionKey | None, list[SessionKey]] = {}
        for child in below.rows:
            children.setdefault(child.lineage.parent, []).append(child.key)
        page, known_children, _ = await store.overview(asked, children=100, show=as_it_is)
        assert page == Page(tuple(map(glance_at, whole.rows)), whole.more), asked
        assert known_children == children, asked


async def test_an_overview_shows_what_every_part_of_a_session_says(store: Store) -> None:
    await opened(store)
    spawned = builders.session(CHILD, at=NOON, parent=MAIN)
    full = spawned._replace(
        facts=Facts(kind=SessionKind.GROUP),
        lineage=replace(spawned.lineage, depth=1, terms=Terms(task="count to 5")),
        labels=Labels(label="a", display_name="b", subject="c"),
        origin=Origin(provider="telegram"),
        route=Address(channel="telegram", to="7", thread="9"),
        overrides=Overrides(model="demo/demo-1", thinking="high", send_policy=SendOverride.DENY),
        counters=Counters(total=5, context_window=9_000),
        summary=Summary(title="first", preview="last", entries=2, model="demo/demo-2"),
        status=SessionStatus.FAILED,
    )
    await opened(store, row=full)
    stored = await known(store, CHILD)
    page, *_ = await store.overview(SessionQuery(keys=frozenset({CHILD})), children=1, show=as_it_is)
    (shown,) = page.rows
    assert shown == glance_at(stored)
    assert (shown.channel, shown.status, shown.counters.total) == ("telegram", SessionStatus.FAILED, 5)


@pytest.mark.requirement("P8", "D55")
async def test_glances_are_the_pages_of_a_list_with_what_is_shown_of_each(store: Store) -> None:
    await planted(store)
    for query, scope, limit in product(FILTERS, SCOPES, (1, 100)):
        asked = replace(query, scope=scope, limit=limit, offset=limit % 2)
        whole = await store.list_sessions(asked)
        assert await store.glances(asked) == Page(tuple(map(glance_at, whole.rows)), whole.more), asked


async def test_an_overview_is_handed_over_as_it_is_shown(store: Store) -> None:
    await planted(store)
    names = await store.overview(
        SessionQuery(limit=2), children=1, show=lambda overview: [str(row.key) for row in overview.page.rows]
    )
    page, *_ = await store.overview(SessionQuery(limit=2), children=1, show=as_it_is)
    assert names == [str(row.key) for row in page.rows]


async def test_what_cannot_be_shown_of_an_overview_is_its_callers_error(store: Store) -> None:
    def fail(overview: Overview) -> None:
        raise Conflict("no way to show this")

    with pytest.raises(Conflict, match="no way"):
        await store.overview(SessionQuery(), children=1, show=fail)
    await store.overview(SessionQuery(), children=1, show=as_it_is)


async def test_an_overview_names_the_newest_children_of_all_its_rows_together_and_says_if_there_are_more(
    store: Store,
) -> None:
    await planted(store)
    _, one, more = await store.overview(SessionQuery(), children=1, show=as_it_is)
    assert (one, more) == ({ALICES: [CHILD]}, True)
    _, both, more = await store.overview(SessionQuery(), children=2, show=as_it_is)
    assert (both, more) == ({ALICES: [CHILD], CHILD: [GRANDCHILD]}, False)


async def test_scope_and_filters_come_before_offset_and_limit(store: Store) -> None:
    await planted(store)
    query = SessionQuery(scope=VisibleScope(agents=None, owner=ALICE), limit=1)
    first = await store.list_sessions(query)
    assert ([row.key for row in first.rows], first.more) == ([CHILD], True)
    second = await store.list_sessions(replace(query, offset=1))
    assert ([row.key for row in second.rows], second.more) == ([ALICES], True)
    third = await store.list_sessions(replace(query, offset=2))
    assert ([row.key for row in third.rows], third.more) == ([GRANDCHILD], False)
    assert await listed(store, replace(query, offset=3)) == []


def crowd() -> list[SessionKey]:
    return [SessionKey.named("main", f"room {number}") for number in range(23)]


async def crowded(store: Store) -> list[str]:
    """Many rows that share few times of activity; their keys in the order of a list."""
    for number, key in enumerate(crowd()):
        await opened(store, row=builders.session(key, at=NOON + number % 3))
    return [
        str(key) for _, key in sorted(enumerate(crowd()), key=lambda pair: (-(pair[0] % 3), str(pair[1])))
    ]


@pytest.mark.requirement("P17")
@pytest.mark.parametrize("limit", [1, 4, 5, 23, 100])
async def test_pages_by_cursor_are_complete_although_rows_share_their_time(store: Store, limit: int) -> None:
    expected = await crowded(store)
    seen: list[str] = []
    after: Cursor | None = None
    more = True
    while more:
        page = await store.list_sessions(SessionQuery(after=after, limit=limit))
        seen += [str(row.key) for row in page.rows]
        after = Cursor(updated=page.rows[-1].times.updated, key=str(page.rows[-1].key))
        more = page.more
    assert seen == expected


@pytest.mark.parametrize("limit", [1, 4, 23, 100])
async def test_pages_by_offset_are_complete_although_rows_share_their_time(store: Store, limit: int) -> None:
    expected = await crowded(store)
    seen: list[str] = []
    more = True
    while more:
        page = await store.list_sessions(SessionQuery(offset=len(seen), limit=limit))
        seen += [str(row.key) for row in page.rows]
        more = page.more
    assert seen == expected


async def test_a_cursor_need_not_point_at_a_row(store: Store) -> None:
    keys = await crowded(store)
    gone = Cursor(updated=NOON + 2, key=f"{keys[0]} and more")
    assert await listed(store, SessionQuery(after=gone)) == keys[1:]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("MAIN:MAIN", True),
        ("STRASSE", True),
        ("käse", True),
        ("the plan", True),
        ("budget", True),
        ("plan budget", False),
        ("room", False),
        ("%", False),
        ("", True),
    ],
)
async def test_a_list_is_searched_in_key_names_and_title_whatever_the_case(
    store: Store, text: str, found: bool
) -> None:
    labels = Labels(label="Straße", display_name="KÄSE", subject="The Plan", room="room")
    await opened(store, row=builders.session()._replace(labels=labels))
    await store.append(MAIN, (builders.said("e-1", "Budget for May"),))
    assert await listed(store, SessionQuery(search=text)) == ([str(MAIN)] if found else [])


async def test_a_child_is_found_by_its_task_and_not_by_how_it_was_put_to_it(store: Store) -> None:
    await opened(store)
    lineage = Lineage(parent=MAIN, depth=1, terms=Terms(task="inventory the warehouse"))
    await opened(store, row=builders.session(CHILD, parent=MAIN)._replace(lineage=lineage))
    task = subagent_task_message("inventory the warehouse", depth=1, max_depth=1, mode=SpawnMode.RUN)
    await store.append(CHILD, (builders.said("e-1", task),))
    assert await listed(store, SessionQuery(search="WAREHOUSE")) == [str(CHILD)]
    assert await listed(store, SessionQuery(search="subagent context")) == []


async def test_a_list_is_searched_in_what_the_row_says_now(store: Store) -> None:
    await opened(store, row=builders.session()._replace(labels=Labels(label="old name")))
    await store.append(MAIN, (builders.said("e-1", "first words"),))
    assert await listed(store, SessionQuery(search="first words")) == [str(MAIN)]
    await change(store, ChangeSession(key=MAIN, labels=Labels(label="fresh name")))
    assert await listed(store, SessionQuery(search="fresh name")) == [str(MAIN)]
    assert await listed(store, SessionQuery(search="old name")) == []
    await reset(store, 2)
    assert await listed(store, SessionQuery(search="first words")) == []
    await store.append(MAIN, (builders.said("e-2", "second words"),))
    assert await listed(store, SessionQuery(search="second words")) == [str(MAIN)]
    assert await listed(store, SessionQuery(label="fresh name")) == [str(MAIN)]
