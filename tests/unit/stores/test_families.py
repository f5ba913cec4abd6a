"""What a decision about a session and all below it sees. What comes of it is proven by flows."""

from dataclasses import replace

import pytest

from roost.core.exchanges import CompletionStatus
from roost.core.keys import SessionKey
from roost.core.seals import Seals
from roost.core.spawning import run_of
from roost.stores.families import tree_of
from roost.stores.memory.tables import MemoryTables
from roost.stores.tables import drive
from roost.stores.unit import Unit
from roost.testing import builders
from roost.testing.clock import NOON, FakeClock
from tests import samples
from tests.samples import CHILD, MAIN


@pytest.fixture
def tables() -> MemoryTables:
    tables = MemoryTables(FakeClock())
    for key in (MAIN, CHILD):
        opening = builders.opening(builders.session(key), f"s of {key}")
        drive(tables.insert_session(opening.session))
        drive(tables.insert_generation(opening.generation))
    drive(tables.insert_run(samples.run(run_of(CHILD), key=CHILD)))
    return tables


@pytest.mark.parametrize(
    ("key", "status", "expected"),
    [
        (CHILD, CompletionStatus.PENDING, True),
        (CHILD, CompletionStatus.OK, False),
        (MAIN, CompletionStatus.PENDING, False),
    ],
)
def test_a_child_is_seen_with_its_task_while_the_end_of_that_is_owed(
    tables: MemoryTables, key: SessionKey, status: CompletionStatus, expected: bool
) -> None:
    owed = replace(samples.completion(run_of(CHILD), requester=MAIN), child=CHILD, status=status)
    drive(tables.insert_completion(owed))
    tree = drive(tree_of(Unit(tables, FakeClock(NOON), {}, Seals({})), key))
    assert (tree.task is not None) is expected
    assert [one.run.id for one in tree.runs if one.run.key == CHILD] == (
        [run_of(CHILD)] if key == CHILD else []
    )


def test_a_child_of_whom_nobody_is_owed_has_no_task(tables: MemoryTables) -> None:
    assert drive(tree_of(Unit(tables, FakeClock(NOON), {}, Seals({})), CHILD)).task is None
