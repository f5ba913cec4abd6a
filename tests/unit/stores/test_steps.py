from roost.core.runs import Progress, Step, StepKind
from roost.core.seals import Seals
from roost.ports import Topic, TopicKind
from roost.stores.memory.tables import MemoryTables
from roost.stores.steps import begin_step
from roost.stores.tables import drive
from roost.stores.unit import Unit
from roost.testing import builders
from roost.testing.clock import FakeClock


def test_a_step_that_waits_lets_others_begin_and_a_tool_is_no_call_to_the_model() -> None:
    tables = MemoryTables(FakeClock())
    drive(tables.insert_run(builders.run("r-1")))
    unit = Unit(tables, FakeClock(), {}, Seals({}))
    due = Topic(TopicKind.RUNS_DUE)
    works = Step(kind=StepKind.TOOL, at=1, tool="exec", call_id="c-1")
    waits = Step(kind=StepKind.TOOL, at=2, tool="sessions_send", call_id="c-2", waits=True)
    for step, told in ((works, False), (waits, True)):
        run = drive(tables.run("r-1"))
        assert run is not None
        drive(begin_step(unit, run, step, None))
        assert (due in unit.waking.topics) is told
    run = drive(tables.run("r-1"))
    assert run is not None
    assert run.progress == Progress(step=waits, model_calls=0)
