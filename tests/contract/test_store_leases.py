"""Leases: one owner of an exclusive store at a time, and everybody can see who."""

from dataclasses import replace

import pytest

from roost.core.errors import Fenced, LeaseHeld
from roost.core.leases import FORGOTTEN_MS, LEASE_MS, Gateway, Lease
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import FIRST, Home
from tests.contract.scenes import known, opened

SECOND = Gateway(name="second", holder="process-2", address="127.0.0.1:7", config_hash="abc")


async def test_a_lease_names_its_gateway_and_ends_after_its_term(lease: Lease) -> None:
    assert lease == Lease(gateway=FIRST, epoch=1, expires_at=NOON + LEASE_MS)
    assert lease.live(NOON + LEASE_MS - 1)
    assert not lease.live(NOON + LEASE_MS)


@pytest.mark.requirement("P30")
async def test_while_a_lease_is_live_another_name_is_refused_and_told_the_owner(
    owned: Home, clock: FakeClock
) -> None:
    await owned.store.acquire_lease(replace(FIRST, address="10.0.0.7:18789"))
    clock.advance(LEASE_MS - 1)
    with pytest.raises(LeaseHeld) as refused:
        await (await owned.beside()).acquire_lease(SECOND)
    for part in ("first", "process-1", "10.0.0.7:18789"):
        assert part in str(refused.value)
    assert [lease.gateway.name for lease in await owned.store.gateways()] == ["first"]
    await opened(owned.store)


@pytest.mark.requirement("P30")
async def test_of_five_gateways_one_serves(owned: Home) -> None:
    refused = 0
    for number in range(4):
        with pytest.raises(LeaseHeld):
            await (await owned.beside()).acquire_lease(Gateway(name=f"other-{number}", holder=f"p-{number}"))
        refused += 1
    assert refused == 4
    await owned.store.renew_lease(owned.lease)


async def test_a_lease_that_ran_out_is_free_for_another_name(home: Home, clock: FakeClock) -> None:
    clock.advance(LEASE_MS)
    taken = await (await home.beside()).acquire_lease(SECOND)
    assert taken == Lease(gateway=SECOND, epoch=home.lease.epoch + 1, expires_at=clock.now() + LEASE_MS)


@pytest.mark.requirement("P30")
async def test_an_owner_that_slept_past_its_lease_writes_nothing_after_another_took_over(
    owned: Home, clock: FakeClock
) -> None:
    await opened(owned.store)
    clock.advance(LEASE_MS)
    other = await owned.beside()
    lease = await other.acquire_lease(SECOND)
    with pytest.raises(Fenced):
        await owned.store.renew_lease(owned.lease)
    await other.append(MAIN, (builders.said("e-1", "from the new owner"),))
    if owned.durable:
        with pytest.raises(Fenced):
            await owned.store.append(MAIN, (builders.said("e-2", "from the old one"),))
    assert (await known(other)).summary.entries == 1
    assert await other.renew_lease(lease) == lease


@pytest.mark.requirement("P30")
async def test_who_waits_beside_an_owner_that_renews_is_refused_however_long_it_waits(
    owned: Home, clock: FakeClock
) -> None:
    other = await owned.beside()
    for _ in range(6):
        clock.advance(LEASE_MS // 2)
        await owned.store.renew_lease(owned.lease)
        with pytest.raises(LeaseHeld):
            await other.acquire_lease(SECOND)
    assert (await owned.store.renew_lease(owned.lease)).epoch == owned.lease.epoch


async def test_the_same_name_takes_its_own_lease_over_at_once(home: Home) -> None:
    restarted = replace(FIRST, holder="process-2")
    lease = await (await home.beside()).acquire_lease(restarted)
    assert lease == Lease(gateway=restarted, epoch=home.lease.epoch + 1, expires_at=NOON + LEASE_MS)
    with pytest.raises(Fenced):
        await home.store.renew_lease(home.lease)


async def test_epochs_rise_over_all_names(home: Home, clock: FakeClock) -> None:
    epochs = [home.lease.epoch]
    for gateway in (FIRST, SECOND, SECOND, FIRST):
        clock.advance(LEASE_MS)
        epochs.append((await home.store.acquire_lease(gateway)).epoch)
    assert epochs == [1, 2, 3, 4, 5]


async def test_renewing_extends_by_the_full_term(home: Home, clock: FakeClock) -> None:
    clock.advance(LEASE_MS - 1)
    renewed = await home.store.renew_lease(home.lease)
    assert renewed == replace(home.lease, expires_at=clock.now() + LEASE_MS)
    clock.advance(LEASE_MS - 1)
    assert (await home.store.renew_lease(home.lease)).expires_at == clock.now() + LEASE_MS


async def test_a_lease_that_ran_out_is_not_renewed_even_if_nobody_took_it(
    home: Home, clock: FakeClock
) -> None:
    clock.advance(LEASE_MS)
    with pytest.raises(Fenced):
        await home.store.renew_lease(home.lease)


async def test_a_released_lease_is_free_at_once(home: Home) -> None:
    await home.store.release_lease(home.lease)
    with pytest.raises(Fenced):
        await home.store.renew_lease(home.lease)
    lease = await (await home.beside()).acquire_lease(SECOND)
    assert lease.gateway == SECOND


async def test_releasing_a_lost_lease_is_no_error_and_leaves_the_new_one(
    home: Home, clock: FakeClock
) -> None:
    clock.advance(LEASE_MS)
    other = await home.beside()
    taken = await other.acquire_lease(SECOND)
    await home.store.release_lease(home.lease)
    assert await other.renew_lease(taken) == taken
    again = await other.acquire_lease(SECOND)
    await other.release_lease(taken)
    assert await other.renew_lease(again) == again


async def test_every_gateway_that_held_a_lease_lately_is_listed_by_name(home: Home, clock: FakeClock) -> None:
    clock.advance(LEASE_MS)
    second = await home.store.acquire_lease(SECOND)
    clock.advance(LEASE_MS)
    third = await home.store.acquire_lease(Gateway(name="another", holder="process-3"))
    listed = await home.store.gateways()
    assert [lease.gateway for lease in listed] == [third.gateway, FIRST, SECOND]
    assert [lease.live(clock.now()) for lease in listed] == [True, False, False]
    assert listed[2] == second


async def test_a_gateway_that_left_or_died_long_ago_is_forgotten_and_no_epoch_is_given_twice(
    home: Home, clock: FakeClock
) -> None:
    clock.advance(LEASE_MS + FORGOTTEN_MS - 1)
    second = await home.store.acquire_lease(SECOND)
    assert [lease.gateway.name for lease in await home.store.gateways()] == ["first", "second"]
    await home.store.release_lease(second)
    clock.advance(1)
    third = await home.store.acquire_lease(Gateway(name="third", holder="process-3"))
    assert await home.store.gateways() == (third,)
    assert third.epoch == second.epoch + 1
    with pytest.raises(Fenced):
        await home.store.renew_lease(home.lease)
    await home.store.release_lease(third)
    again = await home.store.acquire_lease(third.gateway)
    assert (again.epoch, await home.store.gateways()) == (third.epoch + 1, (again,))
