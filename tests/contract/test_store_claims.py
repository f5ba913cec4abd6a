"""Claims that were written and never heard of are given back by their own gateway."""

import pytest

from roost.core.addresses import Address
from roost.core.deliveries import DeliveryState
from roost.core.effects import AddDelivery
from roost.core.errors import Fenced
from roost.core.keys import SessionKey
from roost.core.leases import LEASE_MS, Gateway
from roost.core.runs import RunState
from roost.core.sessions import SessionStatus
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.contract.homes import Home
from tests.contract.scenes import change, claim_of, everything, known, known_run, opened, started

SIDE = SessionKey.named("main", "side")
SECOND = Gateway(name="second", holder="process-2")


async def test_runs_that_were_claimed_unheard_wait_again_and_those_that_are_known_go_on(home: Home) -> None:
    store = home.store
    under_way = await started(store, home.lease, "r-1")
    unheard = await started(store, home.lease, "r-2", SIDE)
    claimed = await known_run(store, "r-2")
    (again,) = await store.unclaim_runs(home.lease, {under_way})
    assert again == await known_run(store, "r-2")
    assert (again.state, again.claim, again.fence) == (RunState.QUEUED, None, unheard.fence + 1)
    assert (again.progress, again.ready_at) == (claimed.progress, claimed.ready_at)
    assert (await known(store, SIDE)).status is SessionStatus.QUEUED
    assert (await known_run(store, "r-1")).claim == under_way
    with pytest.raises(Fenced):
        await store.append(SIDE, (builders.said("late", "too late"),), claim=unheard)
    (taken,) = await store.claim_runs(home.lease, everything)
    assert taken.id == "r-2"
    assert await store.unclaim_runs(home.lease, {under_way, claim_of(taken)}) == ()


async def test_a_place_is_sent_one_message_at_a_time_whether_or_not_it_is_said_who_writes_there(
    home: Home,
) -> None:
    await opened(home.store)
    for name, who in (("first", "ada"), ("second", None)):
        address = Address(channel="telegram", to="D7", person=who)
        await change(home.store, AddDelivery(delivery=builders.delivery(name, MAIN, address=address)))
    (taken,) = await home.store.claim_deliveries(home.lease, 2)
    assert (taken.id, taken.address.person) == ("first", "ada")


async def test_messages_that_were_taken_unheard_are_to_be_sent_as_if_untried(home: Home) -> None:
    store = home.store
    for key, name in ((MAIN, "alice"), (SIDE, "bob")):
        await opened(store, key)
        address = Address(channel="telegram", to=name)
        await change(store, AddDelivery(delivery=builders.delivery(name, key, address=address)), key=key)
    before = await store.delivery("bob")
    alice, bob = await store.claim_deliveries(home.lease, 2)
    assert alice.claim is not None
    assert before is not None
    (again,) = await store.unclaim_deliveries(home.lease, {alice.claim})
    assert again == await store.delivery("bob")
    assert (again.state, again.claim, again.attempts) == (DeliveryState.INTENT, None, before.attempts)
    assert again.fence > bob.fence
    assert await store.delivery("alice") == alice
    (taken,) = await store.claim_deliveries(home.lease, 2)
    assert taken.id == "bob"


async def test_what_others_have_claimed_is_not_given_back(home: Home, clock: FakeClock) -> None:
    store: Store = home.store
    claim = await started(store, home.lease, "r-1")
    await change(store, AddDelivery(delivery=builders.delivery("d-1")))
    (sending,) = await store.claim_deliveries(home.lease, 1)
    clock.advance(LEASE_MS)
    lease = await store.acquire_lease(SECOND)
    assert await store.unclaim_runs(lease, ()) == ()
    assert await store.unclaim_deliveries(lease, ()) == ()
    assert (await known_run(store, "r-1")).claim == claim
    assert await store.delivery("d-1") == sending
    for lost in (store.unclaim_runs(home.lease, ()), store.unclaim_deliveries(home.lease, ())):
        with pytest.raises(Fenced):
            await lost
