from dataclasses import replace

from roost.core.keys import KeyKind, SessionKey
from roost.core.sessions import Lineage
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.trees import Tree
from tests import samples
from tests.samples import CHILD, GRANDCHILD, MAIN

SIBLING = SessionKey(agent="main", kind=KeyKind.SUBAGENT, name="other")


def below(key: SessionKey, parent: SessionKey) -> Snapshot:
    snapshot = samples.snapshot(key)
    assert snapshot.session is not None
    return replace(snapshot, session=snapshot.session._replace(lineage=Lineage(parent=parent)))


def running(key: SessionKey) -> RunSnapshot:
    return RunSnapshot(run=samples.run(f"of-{key.name}", key=key), session=samples.snapshot(key))


TREE = Tree(
    session=samples.snapshot(),
    below=(below(GRANDCHILD, CHILD), below(CHILD, MAIN), below(SIBLING, MAIN)),
    runs=tuple(running(key) for key in (MAIN, CHILD, GRANDCHILD, SIBLING)),
    asked=tuple(running(key) for key in (MAIN, GRANDCHILD, SIBLING)),
)


def test_a_branch_is_a_session_below_with_all_that_hangs_under_it() -> None:
    branch = TREE.branch(CHILD)
    assert branch is not None
    assert branch.session.key == CHILD
    assert [one.key for one in branch.below] == [GRANDCHILD]
    assert [one.run.key for one in branch.runs] == [CHILD, GRANDCHILD]
    assert [one.run.key for one in branch.asked] == [GRANDCHILD]


def test_a_session_without_work_is_no_branch() -> None:
    assert TREE.branch(MAIN) is None
    assert TREE.branch(samples.OPS) is None
