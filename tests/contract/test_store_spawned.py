"""What a session ever spawned, as it is counted."""

import tracemalloc

from roost.core.effects import AcknowledgeCompletion, DeleteSession, SettleCompletion
from roost.core.exchanges import CompletionStatus
from roost.core.leases import Lease
from roost.ports import Store
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import change
from tests.contract.test_store_children import CHILD, OTHER, with_children


async def test_what_a_session_spawned_is_known_in_its_order_when_it_was_told_and_the_child_is_gone(
    store: Store, lease: Lease
) -> None:
    await with_children(store, lease)
    await change(store, *(AcknowledgeCompletion(child_run=run, at=NOON) for run in ("c-3", "c-2")))
    await change(store, DeleteSession(key=OTHER), key=OTHER)
    assert [one.child_run for one in await store.spawned(MAIN)] == ["c-1", "c-2", "c-3"]
    assert await store.spawned(CHILD) == ()


async def test_who_counts_what_a_session_spawned_reads_none_of_the_reports(
    store: Store, lease: Lease
) -> None:
    await with_children(store, lease)
    report = "x" * (16 << 20)
    ended = SettleCompletion(child_run="c-2", status=CompletionStatus.OK, at=NOON, result=report)
    await change(store, ended)
    tracemalloc.start()
    try:
        found = await store.spawned(MAIN)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [one.status for one in found] == [
        CompletionStatus.PENDING,
        CompletionStatus.OK,
        CompletionStatus.PENDING,
    ]
    assert peak < len(report)
