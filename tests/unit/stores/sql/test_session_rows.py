from dataclasses import replace

import apsw
import pytest

from roost.core.addresses import Address, ChatType, Origin
from roost.core.errors import Conflict, NotFound, StoreCorrupt
from roost.core.events import Event, EventKind
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.principals import OWNER
from roost.core.queries import Cursor, SessionQuery
from roost.core.sessions import (
    Base,
    Counters,
    Facts,
    Labels,
    Overrides,
    SessionKind,
    SessionStatus,
    Summary,
    Times,
)
from roost.core.visibility import EVERYTHING, VisibleScope
from roost.stores.sql.rows import Binding, filtered, scope_conditions
from roost.stores.sql.session_rows import list_conditions
from roost.stores.sqlite.rows import SQL
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from roost.testing.builders import CHAT, MAIN, generation, inbound, session
from roost.testing.clock import NOON
from tests.unit.stores.conftest import open_session

CHILD = SessionKey.named("main", "child")
OF_AN_AGENT = VisibleScope(agents=frozenset({"main"}), owner=OWNER, self_key=MAIN, tree_of=MAIN)
FULL = session(CHILD, parent=MAIN)._replace(
    session_id=f"{CHILD}-1",
    facts=Facts(
        kind=SessionKind.GROUP,
        channel="web",
        chat_type=ChatType.GROUP,
        account="second",
        peer="Ω",
        thread="7",
        rule="peer",
    ),
    times=Times(created=1, updated=2, started=3, interacted=4, archived=5, pinned=6),
    labels=Labels(label="a label", display_name="A name"),
    origin=Origin(provider="web", sender="alice"),
    route=Address(channel="web", to="alice", thread="7"),
    overrides=Overrides(model="demo/demo-2", queue_cap=3),
    counters=Counters(input=10, cost_micros=7),
    summary=Summary(title="A title", preview="A preview", entries=3, model="demo/demo-1"),
    status=SessionStatus.RUNNING,
    version=9,
    events=12,
)


def test_a_session_reads_back_as_it_was_written(tables: SqliteTables) -> None:
    drive(tables.insert_session(FULL))
    assert drive(tables.session(CHILD)) == FULL


def test_every_part_of_a_session_that_may_change_is_written_when_it_does(tables: SqliteTables) -> None:
    was = open_session(tables, CHILD, parent=MAIN)
    now = FULL._replace(facts=was.facts, times=FULL.times._replace(created=was.times.created))
    drive(tables.update_session(was, now))
    assert drive(tables.session(CHILD)) == now


def test_what_an_append_moves_is_written_alone(tables: SqliteTables, connection: apsw.Connection) -> None:
    drive(tables.insert_session(FULL))
    was = drive(tables.session(CHILD))
    assert was is not None
    now = was._replace(version=10, events=13, summary=was.summary._replace(entries=4, preview="Newer"))
    connection.execute("UPDATE sessions SET labels = 'left alone'")
    drive(tables.update_session(was, now))
    row = connection.execute("SELECT labels, version, events, entries, preview FROM sessions").get
    assert row == ("left alone", 10, 13, 4, "Newer")


def test_a_generation_reads_back_as_it_was_written(tables: SqliteTables) -> None:
    drive(tables.insert_session(FULL))
    written = replace(
        generation(CHILD, "second", 2),
        rule="idle",
        previous="first",
        base=Base(session_id="first", seq=4),
        archived=True,
        header='{"type":"session"}',
    )
    drive(tables.insert_generation(written))
    assert drive(tables.generation("second")) == written
    assert drive(tables.generations(CHILD)) == (written,)
    assert drive(tables.session_by_id("second")) == FULL


def test_an_id_of_another_generation_is_refused(tables: SqliteTables) -> None:
    open_session(tables)
    with pytest.raises(Conflict, match="is taken"):
        drive(tables.insert_generation(generation(MAIN, f"{MAIN}-1", 2)))


def test_a_generation_needs_its_session(tables: SqliteTables) -> None:
    with pytest.raises(NotFound):
        drive(tables.insert_generation(generation(MAIN, "orphan")))


def test_whoever_gets_the_key_of_a_parent_that_went_is_not_the_parent(tables: SqliteTables) -> None:
    grandchild = SessionKey.named("main", "grandchild")
    open_session(tables)
    open_session(tables, CHILD, parent=MAIN)
    open_session(tables, grandchild, parent=CHILD)
    assert drive(tables.ancestors(grandchild)) == (CHILD, MAIN)
    drive(tables.delete_session(CHILD))
    assert drive(tables.session(CHILD)) is None
    assert CHILD not in drive(tables.ancestors(grandchild))


def test_a_key_that_is_opened_again_counts_its_feed_on(tables: SqliteTables) -> None:
    drive(tables.insert_session(session()._replace(events=12)))
    drive(tables.delete_session(MAIN))
    assert drive(tables.last_event(MAIN)) == 12
    assert drive(tables.last_event(CHILD)) == 0


@pytest.mark.requirement("P17")
@pytest.mark.parametrize(
    "query",
    [
        SessionQuery(),
        SessionQuery(after=Cursor(updated=5, key="k")),
        SessionQuery(agent="main"),
        SessionQuery(scope=VisibleScope(agents=None, owner=OWNER)),
        SessionQuery(kinds=frozenset({SessionKind.MAIN}), active_since=1),
        SessionQuery(archived=True),
        SessionQuery(archived=None),
        SessionQuery(archived=None, agent="main"),
        SessionQuery(archived=None, active_since=1, after=Cursor(updated=5, key="k")),
        SessionQuery(archived=None, scope=VisibleScope(agents=None, owner=OWNER)),
    ],
)
def test_a_list_walks_an_index_in_its_order(connection: apsw.Connection, query: SessionQuery) -> None:
    plan = _plan(connection, "sessions", query)
    assert plan[0].startswith(("SEARCH s USING INDEX sessions_by_", "SEARCH s USING INDEX sessions_archived"))
    assert not any("TEMP B-TREE" in step for step in plan)


@pytest.mark.requirement("P17")
@pytest.mark.parametrize("archived", [None, False, True])
def test_what_is_a_persons_own_is_found_without_walking_what_is_others(
    connection: apsw.Connection, archived: bool | None
) -> None:
    own = VisibleScope(agents=None, owner=OWNER)
    plan = _plan(connection, "sessions", SessionQuery(scope=own, archived=archived))
    assert plan == ["SEARCH s USING INDEX sessions_by_owner (tenant=? AND principal=?)"]


@pytest.mark.requirement("P17")
@pytest.mark.parametrize("statement", ["sessions", "glances", "kin"])
@pytest.mark.parametrize("archived", [None, False])
@pytest.mark.parametrize("scope", [EVERYTHING, VisibleScope(agents=None, owner=OWNER), OF_AN_AGENT])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        (SessionQuery(parents=frozenset({MAIN})), "sessions_by_parent (parent=?)"),
        (SessionQuery(keys=frozenset({MAIN})), "sqlite_autoindex_sessions_1 (tenant=? AND key=?)"),
        (SessionQuery(label="a label"), "sessions_by_label (label=?)"),
        (SessionQuery(parents=frozenset({MAIN}), agent="main"), "sessions_by_parent (parent=?)"),
        (SessionQuery(label="a label", agent="main"), "sessions_by_label (label=?)"),
    ],
)
def test_the_few_that_are_named_are_found_without_walking_the_others(
    connection: apsw.Connection,
    query: SessionQuery,
    found: str,
    scope: VisibleScope,
    archived: bool | None,
    statement: str,
) -> None:
    plan = _plan(connection, statement, replace(query, scope=scope, archived=archived))
    assert plan[0] == f"SEARCH s USING INDEX {found}"


def _plan(connection: apsw.Connection, name: str, query: SessionQuery) -> list[str]:
    bindings: dict[str, Binding] = {"tenant": "default", "limit": 50, "offset": 0}
    conditions = list_conditions(query, bindings) + scope_conditions(query.scope, bindings)
    statement = filtered(SQL, name, conditions)
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)]


@pytest.mark.parametrize(
    "query",
    [
        SessionQuery(archived=True),
        SessionQuery(archived=None, label="a label"),
        SessionQuery(archived=None, parents=frozenset({MAIN})),
        SessionQuery(archived=None, keys=frozenset({FULL.key})),
        SessionQuery(archived=None, search="TITLE"),
        SessionQuery(archived=None, kinds=frozenset({SessionKind.GROUP})),
    ],
)
def test_a_list_holds_what_its_filters_name(tables: SqliteTables, query: SessionQuery) -> None:
    open_session(tables)
    drive(tables.insert_session(FULL))
    assert drive(tables.sessions(query)) == [FULL]


def test_what_is_deleted_leaves_the_identity_of_its_messages_and_nothing_of_what_they_said(
    tables: SqliteTables, connection: apsw.Connection
) -> None:
    open_session(tables)
    record = InboundRecord(inbound=inbound("in-1", text="a secret"), state=InboundState.TAKEN)
    drive(tables.insert_inbound(record))
    drive(tables.delete_session(MAIN))
    assert drive(tables.inbound("in-1")) is not None
    assert "secret" not in connection.execute("SELECT body FROM inbound").get


def test_a_route_is_optional(tables: SqliteTables) -> None:
    drive(tables.insert_session(session()._replace(route=None)))
    was = drive(tables.session(MAIN))
    assert was is not None
    drive(tables.update_session(was, was._replace(route=CHAT)))
    found = drive(tables.session(MAIN))
    assert found is not None
    assert (was.route, found.route) == (None, CHAT)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sessions SET status = 'weird'",
        "UPDATE sessions SET kind = 'weird'",
        "UPDATE sessions SET principal = 'nobody'",
        "UPDATE sessions SET parent = 'nonsense'",
        "UPDATE sessions SET labels = '{'",
        "UPDATE generations SET opened_by = 'weird'",
        "UPDATE lineage SET ancestor = 'nonsense'",
        "UPDATE events SET kind = 'weird'",
    ],
)
def test_a_word_that_is_not_one_of_ours_is_told_as_damage(
    tables: SqliteTables, connection: apsw.Connection, damage: str
) -> None:
    open_session(tables)
    open_session(tables, CHILD, parent=MAIN)
    drive(tables.insert_events([Event(key=CHILD, number=1, at=NOON, kind=EventKind.ENTRY, ref="e")]))
    connection.execute(damage)
    with pytest.raises(StoreCorrupt):
        drive(all_of(tables, CHILD))


async def all_of(tables: SqliteTables, key: SessionKey) -> None:
    await tables.session(key)
    await tables.generations(key)
    await tables.ancestors(key)
    await tables.events(key, 0, 10)
