"""By what the lines of a log about a run are found: its own id, and that of the message all began with."""

from roost.core.runs import Run


def traced(run: Run) -> dict[str, object]:
    """The `extra` of a line."""
    return {"trace": run.cause.trace, "run": run.id}
