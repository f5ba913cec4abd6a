import anyio

from roost.core.effects import RequestStop
from roost.core.principals import OWNER
from roost.core.runs import StopRequest
from roost.engine.heeding import heed
from roost.engine.stops import Stops
from roost.stores.memory import MemoryStore
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.contract.scenes import change, started
from tests.unit.engine.scenes import HOME
from tests.waiting import until_all_wait


async def test_a_run_that_was_asked_to_end_elsewhere_ends_here_and_no_other_does() -> None:
    store, stops = MemoryStore(FakeClock()), Stops()
    lease = await store.acquire_lease(HOME)
    claim = await started(store, lease, "r-1")
    request = StopRequest(reason="enough", by=OWNER, at=1)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(heed, store, stops)
            with stops.around("unknown") as other, stops.around(claim.id) as stop:
                await until_all_wait()
                await change(store, RequestStop(run_id="r-1", stop=request), key=MAIN)
                await anyio.sleep_forever()
            group.cancel_scope.cancel()
    assert (stop.reason, other.reason) == ("enough", None)
