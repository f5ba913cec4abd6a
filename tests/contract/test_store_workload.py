"""How much there is to do, counted."""

from roost.core.deliveries import Confirmed, DeliveryState, Unknown
from roost.core.effects import AddDelivery
from roost.core.leases import Lease
from roost.core.runs import RunState
from roost.core.workload import Workload
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.contract.scenes import change, everything, opened, queued


async def test_an_empty_store_has_nothing_to_do(store: Store) -> None:
    assert await store.workload() == Workload()


async def test_runs_are_counted_until_they_end(store: Store, lease: Lease) -> None:
    await opened(store)
    await queued(store, "r-1")
    await queued(store, "r-2")
    assert (await store.workload()).runs == {RunState.QUEUED: 2}
    await store.claim_runs(lease, everything)
    assert (await store.workload()).runs == {RunState.QUEUED: 1, RunState.RUNNING: 1}


async def test_messages_are_counted_until_they_arrive(store: Store, lease: Lease) -> None:
    await opened(store)
    for name in ("d-1", "d-2", "d-3"):
        await change(store, AddDelivery(delivery=builders.delivery(name, MAIN)))
    assert (await store.workload()).deliveries == {DeliveryState.INTENT: 3}
    for result in (Confirmed(), Unknown(error="who knows")):
        (taken,) = await store.claim_deliveries(lease, 1)
        assert taken.claim is not None
        await store.settle_delivery(taken.claim, result)
    assert len(await store.claim_deliveries(lease, 1)) == 1
    assert (await store.workload()).deliveries == {DeliveryState.SENDING: 1, DeliveryState.UNCERTAIN: 1}
