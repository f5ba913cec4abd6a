"""What a run takes: what was said to it, with the events that waited for somebody to speak."""

from collections.abc import AsyncIterator

import pytest

from roost.core.effects import AcceptInput
from roost.core.errors import InvalidInput
from roost.core.inbound import InputMode
from roost.core.leases import Gateway
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from tests.contract.scenes import accepted, always, as_entries, claim_of, everything, joined, known


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    store = MemoryStore(FakeClock())
    yield store
    await store.close()


async def happened(store: MemoryStore, name: str) -> None:
    """Something that waits for whoever speaks next."""
    event = builders.inbound(name)
    await store.accept_inbound(event, always(AcceptInput(inbound=event, run_id=None, mode=InputMode.WAIT)))


@pytest.mark.parametrize("with_claim", [True, False])
async def test_an_event_that_waits_is_taken_with_what_opens_a_run_and_not_by_one_that_is_steered(
    store: MemoryStore, with_claim: bool
) -> None:
    lease = await store.acquire_lease(Gateway(name="one", holder="me"))
    await accepted(store, "m-1", "r-1")
    await happened(store, "m-2")
    (run,) = await store.claim_runs(lease, everything, as_entries if with_claim else None)
    await store.take_inputs(claim_of(run), as_entries)
    await joined(store, "m-3", "r-1", InputMode.STEER)
    await happened(store, "m-4")
    await store.take_inputs(claim_of(run), as_entries)
    taken = await store.entries((await known(store)).session_id)
    assert [entry.id for entry in taken] == ["entry-m-1", "entry-m-2", "entry-m-3"]
    assert [record.inbound.id for record in await store.pending_inputs(run.key)] == ["m-4"]


async def test_messages_of_which_nothing_would_be_kept_are_not_taken(store: MemoryStore) -> None:
    lease = await store.acquire_lease(Gateway(name="one", holder="me"))
    await accepted(store, "m-1", "r-1")
    (run,) = await store.claim_runs(lease, everything)
    with pytest.raises(InvalidInput, match="keep no word of them"):
        await store.take_inputs(claim_of(run), lambda records: ())
