"""By what the lines of a log about a run are found: its own id, and that of the message all began with."""

from contextlib import suppress

from roost.core.deliveries import Delivery
from roost.core.errors import RoostError
from roost.core.runs import Run
from roost.ports import Store


def traced(run: Run) -> dict[str, object]:
    """The `extra` of a line."""
    return {"trace": run.cause.trace, "run": run.id, "session": str(run.key)}


async def traced_delivery(store: Store, delivery: Delivery) -> dict[str, object]:
    """As `traced`, of the run that a delivery is of. One that nobody asked a model for has none, and a line is not
    worth waiting for a store that cannot be read now."""
    run = None
    if delivery.run_id is not None:
        with suppress(RoostError):
            run = await store.run(delivery.run_id)
    return traced(run) if run else {"run": delivery.run_id, "session": str(delivery.key)}
