"""Where a turn stands that yielded, also one that yielded more than once."""

from dataclasses import replace

from roost.core import children
from roost.core.effects import QueueRun
from roost.core.runs import Outcome, Run, RunState
from roost.stores.memory.tables import MemoryTables
from roost.stores.seeing import standing
from roost.stores.tables import drive
from roost.testing import builders
from roost.testing.clock import NOON, FakeClock
from tests import samples
from tests.samples import MAIN

YIELDED = Outcome(state=RunState.DONE, at=NOON, yielded=True)


def ended(run: Run) -> Run:
    return replace(run, state=YIELDED.state, outcome=YIELDED)


def following(run: Run) -> Run:
    (queued,) = (
        effect
        for effect in children.go_on(run, (samples.completion("c-1"),), NOON)
        if isinstance(effect, QueueRun)
    )
    return queued.run


def test_a_turn_stands_in_the_last_of_the_runs_that_went_on_with_it() -> None:
    tables = MemoryTables(FakeClock())
    opening = builders.opening(builders.session(MAIN), "s-1")
    drive(tables.insert_session(opening.session))
    drive(tables.insert_generation(opening.generation))
    first = ended(samples.run("r-1", key=MAIN))
    second = ended(following(first))
    third = following(second)
    for run in (first, second, third):
        drive(tables.insert_run(run))
    assert drive(standing(tables, "r-1")) == third
    assert drive(standing(tables, "nobody")) is None
