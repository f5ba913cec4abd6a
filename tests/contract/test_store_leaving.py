"""Children that are to be deleted: each goes once its requester was told and it has nothing left to do."""

from dataclasses import replace

import pytest

from roost.core.deliveries import Confirmed, DeliveryState, Rejected
from roost.core.effects import (
    AcknowledgeCompletion,
    AddDelivery,
    DeleteSession,
    Effect,
    OweCompletion,
    PutExchange,
    QueueRun,
)
from roost.core.exchanges import Cleanup, Completion, Exchange, Sent
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.sessions import Base
from roost.core.spawning import run_of
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import change, opened, started

LEAVING = SessionKey.parse("agent:main:subagent:leaving")
BELOW = SessionKey.parse("agent:main:subagent:below")


async def family(store: Store) -> None:
    await opened(store)
    await opened(store, row=builders.session(LEAVING, parent=MAIN))


async def told(store: Store, *more: Effect, cleanup: Cleanup = Cleanup.DELETE) -> None:
    """The child ends, and its requester is told, while something else of it is left to do."""
    owed = Completion(
        child_run=run_of(LEAVING),
        child=LEAVING,
        requester=MAIN,
        batch="none",
        created_at=NOON,
        cleanup=cleanup,
    )
    await change(store, OweCompletion(completion=owed), *more)
    await change(store, AcknowledgeCompletion(child_run=owed.child_run, at=NOON))


async def is_gone(store: Store) -> bool:
    return await store.session(LEAVING) is None


@pytest.mark.requirement("D21")
@pytest.mark.parametrize("cleanup", Cleanup)
async def test_a_child_that_is_to_be_deleted_goes_when_its_requester_is_told(
    store: Store, cleanup: Cleanup
) -> None:
    await family(store)
    await told(store, cleanup=cleanup)
    assert await is_gone(store) is (cleanup is Cleanup.DELETE)


@pytest.mark.requirement("D21")
async def test_a_child_that_is_to_be_deleted_goes_with_its_last_run(store: Store) -> None:
    await family(store)
    runs = [QueueRun(run=builders.run(name, LEAVING)) for name in ("r-1", "r-2")]
    await told(store, *runs)
    await change(store, builders.done("r-1"), key=LEAVING)
    assert not await is_gone(store)
    await change(store, builders.done("r-2"), key=LEAVING)
    assert await is_gone(store)


@pytest.mark.requirement("D21")
async def test_a_child_that_is_to_be_deleted_goes_when_it_was_told_of_its_own(store: Store) -> None:
    await family(store)
    owed = Completion(child_run="b-1", child=BELOW, requester=LEAVING, batch="none", created_at=NOON)
    await told(store, OweCompletion(completion=owed))
    assert not await is_gone(store)
    await change(store, AcknowledgeCompletion(child_run="b-1", at=NOON))
    assert await is_gone(store)


@pytest.mark.requirement("D21")
async def test_a_child_that_is_to_be_deleted_goes_with_what_it_has_to_send(
    store: Store, lease: Lease
) -> None:
    await family(store)
    await told(store, AddDelivery(delivery=builders.delivery("d-1", LEAVING)))
    assert not await is_gone(store)
    (sending,) = await store.claim_deliveries(lease, 1)
    assert sending.claim is not None
    assert not await is_gone(store)
    await store.settle_delivery(sending.claim, Confirmed(receipt="there"))
    assert await is_gone(store)


@pytest.mark.requirement("D21")
@pytest.mark.parametrize("decided", [DeliveryState.DISMISSED, DeliveryState.CONFIRMED])
async def test_a_child_of_which_something_did_not_arrive_stays_until_somebody_has_decided_on_that(
    store: Store, lease: Lease, decided: DeliveryState
) -> None:
    await family(store)
    await told(store, AddDelivery(delivery=builders.delivery("d-1", LEAVING)))
    (sending,) = await store.claim_deliveries(lease, 1)
    assert sending.claim is not None
    failed = await store.settle_delivery(sending.claim, Rejected(error="no such chat"))
    assert not await is_gone(store)
    await store.resolve_delivery(failed, decided, NOON)
    assert await is_gone(store)


@pytest.mark.requirement("D21", "F4")
@pytest.mark.parametrize("fork", [BELOW, SessionKey.named("main", "aside")])
async def test_a_child_that_is_to_be_deleted_goes_with_the_one_that_went_on_from_it(
    store: Store, fork: SessionKey
) -> None:
    await family(store)
    opening = builders.opening(builders.session(fork, parent=LEAVING if fork == BELOW else None), "s-fork")
    base = Base(session_id=f"{LEAVING}-1", seq=0)
    await change(store, replace(opening, generation=replace(opening.generation, base=base)), key=fork)
    await told(store)
    assert not await is_gone(store)
    await change(store, DeleteSession(key=fork), key=fork)
    assert await is_gone(store)


@pytest.mark.requirement("D21", "P6")
@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (Sent(by="r-1", awaited=True), True),
        (Sent(by="r-1"), False),
        (Sent(by="nobody", awaited=True), False),
        (Sent(awaited=True), False),
    ],
)
async def test_who_goes_unasked_leaves_its_answer_to_the_call_that_waits_for_it(
    store: Store, lease: Lease, sent: Sent, kept: bool
) -> None:
    await started(store, lease, "r-1")
    await opened(store, row=builders.session(LEAVING, parent=MAIN))
    asked = Exchange(
        id="x-1", requester=MAIN, target=LEAVING, request="say", created_at=NOON, max_turns=0, sent=sent
    )
    own = replace(asked, id="x-2", requester=LEAVING, target=MAIN)
    await change(store, PutExchange(exchange=own))
    await told(store, PutExchange(exchange=asked))
    assert await is_gone(store)
    assert await store.exchange("x-1") == (asked if kept else None)
    assert await store.exchange("x-2") is None
