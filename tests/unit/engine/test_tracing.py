"""What a line about a run is found by."""

from roost.engine.tracing import traced
from roost.testing import builders


def test_a_line_names_the_run_and_what_began_it() -> None:
    run = builders.run("r-1")
    assert traced(run) == {"trace": run.cause.trace, "run": "r-1", "session": str(run.key)}
