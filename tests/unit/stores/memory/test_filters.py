from dataclasses import replace

import pytest

from roost.core.deliveries import DeliveryState
from roost.core.exchanges import Completion
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import KeyKind, SessionKey
from roost.core.principals import person
from roost.core.queries import SessionQuery
from roost.core.runs import RunState
from roost.core.sessions import Labels, SessionKind
from roost.core.visibility import EVERYTHING, VisibleScope
from roost.stores.memory.filters import in_scope, owed_or_active, wanted
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON

ALICE = person("telegram", "1")
CHILD = SessionKey.parse("agent:main:subagent:one")
ROW = builders.session(CHILD, parent=MAIN)._replace(labels=Labels(label="home"))
AFTER = NOON + 1


@pytest.mark.parametrize(
    ("query", "is_wanted"),
    [
        (SessionQuery(), True),
        (SessionQuery(kinds=frozenset({SessionKind.OTHER})), True),
        (SessionQuery(kinds=frozenset({SessionKind.MAIN})), False),
        (SessionQuery(agent="main"), True),
        (SessionQuery(agent="ops"), False),
        (SessionQuery(label="home"), True),
        (SessionQuery(label="hom"), False),
        (SessionQuery(search="SUBAGENT"), True),
        (SessionQuery(search="zebra"), False),
        (SessionQuery(active_since=NOON), True),
        (SessionQuery(active_since=AFTER), False),
        (SessionQuery(parents=frozenset({MAIN, CHILD})), True),
        (SessionQuery(parents=frozenset({CHILD})), False),
        (SessionQuery(keys=frozenset({CHILD})), True),
        (SessionQuery(keys=frozenset({MAIN})), False),
        (SessionQuery(hidden=frozenset({KeyKind.SUBAGENT})), False),
        (SessionQuery(archived=True), False),
        (SessionQuery(archived=None), True),
    ],
)
def test_a_row_is_wanted_when_every_filter_holds(query: SessionQuery, is_wanted: bool) -> None:
    assert wanted(ROW, query) is is_wanted


def test_an_archived_row_is_wanted_where_archived_ones_are() -> None:
    row = ROW._replace(times=ROW.times._replace(archived=NOON))
    asked = (SessionQuery(), SessionQuery(archived=True), SessionQuery(archived=None))
    assert [wanted(row, query) for query in asked] == [False, True, True]


def test_a_row_is_in_scope_by_its_owner_its_agent_and_its_ancestors() -> None:
    assert in_scope(ROW, (), EVERYTHING)
    assert not in_scope(ROW, (), VisibleScope(agents=None, owner=ALICE))
    assert in_scope(ROW._replace(owner=ALICE), (), VisibleScope(agents=None, owner=ALICE))
    assert in_scope(ROW, (MAIN,), VisibleScope(tree_of=MAIN))
    assert not in_scope(ROW, (), VisibleScope(tree_of=MAIN))
    assert in_scope(ROW, (), VisibleScope(agents=frozenset({"main"})))


def test_a_session_with_work_left_is_held() -> None:
    names = ("run", "ended", "waiting", "taken", "sending", "sent", "requester", "child", "told")
    keys = {name: SessionKey.named("main", name) for name in names}
    owed = Completion(
        child_run="c-1", child=keys["child"], requester=keys["requester"], batch="b", created_at=NOON
    )
    held = owed_or_active(
        runs=[
            builders.run("r-1", keys["run"]),
            replace(builders.run("r-2", keys["ended"]), state=RunState.DONE),
        ],
        inbound=[
            InboundRecord(
                inbound=builders.inbound("m-1", keys["waiting"]), state=InboundState.PENDING, run_id="r"
            ),
            InboundRecord(inbound=builders.inbound("m-3", keys["ended"]), state=InboundState.PENDING),
            InboundRecord(inbound=builders.inbound("m-2", keys["taken"]), state=InboundState.TAKEN),
        ],
        deliveries=[
            replace(builders.delivery("d-1", keys["sending"]), state=DeliveryState.UNCERTAIN),
            replace(builders.delivery("d-2", keys["sent"]), state=DeliveryState.FAILED),
        ],
        completions=[owed, replace(owed, child=keys["told"], requester=keys["told"], acknowledged_at=1)],
    )
    assert held == {keys[name] for name in ("run", "waiting", "sending", "requester", "child")}
