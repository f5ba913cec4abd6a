"""The gateways of a store, and which of them serves a channel."""

import pytest

from roost.core.addresses import Account
from roost.core.effects import AddDelivery
from roost.core.errors import Fenced
from roost.core.fleet import ABANDONED_MS, SAY_AGAIN_MS
from roost.core.leases import LEASE_MS, Gateway, Lease
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import CHAT
from roost.testing.clock import FakeClock
from tests.contract.homes import Home
from tests.contract.scenes import change, opened

HERE, THERE = Account(CHAT.channel), Account("elsewhere", "two")
BOTH = frozenset({HERE, THERE})
SECOND = Gateway(name="second", holder="process-2", config_hash="b")


async def due(store: Store) -> None:
    await opened(store)
    await change(store, AddDelivery(delivery=builders.delivery("d-1")))


async def test_a_gateway_alone_serves_all_its_channels(store: Store, lease: Lease, clock: FakeClock) -> None:
    assert await store.host_channels(lease, BOTH) == BOTH
    clock.advance(1)
    assert await store.host_channels(lease, BOTH) == BOTH
    fleet = await store.fleet()
    assert (fleet.now, fleet.live) == (clock.now(), (lease,))
    assert fleet.hosted_by(lease) == (THERE, HERE)
    assert {fleet.host_of(account) for account in BOTH} == {lease.gateway.name}
    assert {one.at for one in fleet.hostings} == {clock.now() - 1}


async def test_it_says_so_again_after_a_while(store: Store, lease: Lease, clock: FakeClock) -> None:
    await store.host_channels(lease, {HERE})
    for _ in range(0, SAY_AGAIN_MS, LEASE_MS // 2):
        clock.advance(LEASE_MS // 2)
        lease = await store.renew_lease(lease)
    await store.host_channels(lease, {HERE})
    assert [one.at for one in (await store.fleet()).hostings] == [clock.now()]


async def test_the_same_name_in_its_next_life_serves_at_once(home: Home) -> None:
    await home.store.host_channels(home.lease, BOTH)
    lease = await home.store.acquire_lease(home.lease.gateway)
    assert (await home.store.fleet()).host_of(HERE) is None
    assert await home.store.host_channels(lease, BOTH) == BOTH
    with pytest.raises(Fenced):
        await home.store.host_channels(home.lease, BOTH)
    with pytest.raises(Fenced):
        await home.store.leave_channels(home.lease)


async def test_a_channel_that_another_serves_is_left_to_it_until_it_goes(
    shared: Home, clock: FakeClock
) -> None:
    other = await shared.beside()
    lease = await other.acquire_lease(SECOND)
    assert await shared.store.host_channels(shared.lease, {HERE}) == {HERE}
    assert await other.host_channels(lease, BOTH) == {THERE}
    clock.advance(LEASE_MS - 1)
    lease = await other.renew_lease(lease)
    assert await other.host_channels(lease, BOTH) == {THERE}
    clock.advance(1)
    assert await other.host_channels(lease, BOTH) == BOTH
    with pytest.raises(Fenced):
        await shared.store.host_channels(shared.lease, {HERE})


async def test_a_channel_that_was_left_is_free_at_once(shared: Home) -> None:
    other = await shared.beside()
    lease = await other.acquire_lease(SECOND)
    await shared.store.host_channels(shared.lease, {HERE})
    await other.host_channels(lease, {THERE})
    await shared.store.leave_channels(shared.lease)
    assert (await other.fleet()).host_of(HERE) is None
    assert await other.host_channels(lease, BOTH) == BOTH


async def test_what_goes_to_a_channel_is_sent_by_the_gateway_that_serves_it(
    shared: Home, clock: FakeClock
) -> None:
    other = await shared.beside()
    lease = await other.acquire_lease(SECOND)
    await other.host_channels(lease, {HERE})
    await due(shared.store)
    assert await shared.store.claim_deliveries(shared.lease, 10) == ()
    await other.leave_channels(lease)
    # Whoever does not have the channel does not know that nobody has it.
    assert await shared.store.claim_deliveries(shared.lease, 10) == ()
    await shared.store.host_channels(shared.lease, {HERE})
    (taken,) = await shared.store.claim_deliveries(shared.lease, 10)
    assert taken.id == "d-1"


async def test_what_goes_to_a_channel_that_nobody_has_any_more_is_anybodys(
    shared: Home, clock: FakeClock
) -> None:
    other = await shared.beside()
    await other.host_channels(await other.acquire_lease(SECOND), {HERE})
    await due(shared.store)
    clock.advance(ABANDONED_MS)
    lease = await shared.store.acquire_lease(shared.lease.gateway)
    assert len(await shared.store.claim_deliveries(lease, 10)) == 1


async def test_others_see_by_which_configuration_a_gateway_goes(shared: Home) -> None:
    await (await shared.beside()).acquire_lease(SECOND)
    fleet = await shared.store.fleet()
    assert fleet.disagreement("second") == "gateway second goes by another configuration than first"
