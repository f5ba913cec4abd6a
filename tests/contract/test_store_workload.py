"""How much there is to do, counted."""

from roost.core.deliveries import Confirmed, DeliveryState, Rejected, Unknown
from roost.core.effects import AddDelivery
from roost.core.inbound import InputMode
from roost.core.leases import Lease
from roost.core.runs import RunState
from roost.core.workload import Workload
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.contract.scenes import accepted, as_entries, change, claim_of, everything, joined, opened, queued


async def test_an_empty_store_has_nothing_to_do(store: Store) -> None:
    assert await store.workload() == Workload()


async def test_runs_are_counted_until_they_end(store: Store, lease: Lease) -> None:
    await opened(store)
    await queued(store, "r-1")
    await queued(store, "r-2")
    assert (await store.workload()).runs == {RunState.QUEUED: 2}
    await store.claim_runs(lease, everything)
    assert (await store.workload()).runs == {RunState.QUEUED: 1, RunState.RUNNING: 1}


async def test_messages_that_no_run_has_taken_are_counted(store: Store, lease: Lease) -> None:
    await opened(store)
    await accepted(store, "m-1", "r-1")
    await joined(store, "m-2", "r-1", InputMode.STEER)
    assert (await store.workload()).waiting == 2
    (run,) = await store.claim_runs(lease, everything)
    await store.take_inputs(claim_of(run), as_entries)
    assert (await store.workload()).waiting == 0


async def test_deliveries_are_counted_as_each_comes_to_its_end(store: Store, lease: Lease) -> None:
    await opened(store)
    for name in ("d-1", "d-2"):
        await change(store, AddDelivery(delivery=builders.delivery(name, MAIN)))
    assert store.deliveries_ended() == {}
    for result in (Confirmed(), Rejected(error="no such chat")):
        (taken,) = await store.claim_deliveries(lease, 1)
        assert taken.claim is not None
        failed = await store.settle_delivery(taken.claim, result)
    assert store.deliveries_ended() == {DeliveryState.CONFIRMED: 1, DeliveryState.FAILED: 1}
    await store.resolve_delivery(failed, DeliveryState.DISMISSED, 9)
    assert store.deliveries_ended()[DeliveryState.DISMISSED] == 1


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
