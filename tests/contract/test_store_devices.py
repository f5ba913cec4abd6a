"""Devices: kept across restarts, decided on by one at a time."""

import pytest

from roost.core.devices import Devices, Issuer, approve, issue, knock, remove
from roost.core.errors import NotFound
from roost.core.grants import EVERY, Scope
from roost.core.principals import OWNER
from roost.ports import Store
from tests.contract.homes import Reopen
from tests.unit.core.test_devices import request

SELF = Issuer(principal=OWNER, scopes=EVERY)


async def test_who_asked_and_who_was_paired_is_known_after_a_restart(store: Store, reopen: Reopen) -> None:
    assert await store.devices() == Devices()
    asked = request(scopes=(Scope.READ, Scope.WRITE))
    assert await store.change_devices(lambda known: knock(known, asked)) == asked
    await store.change_devices(lambda known: knock(known, request("e")))
    device = await store.change_devices(lambda known: approve(known, asked.id, SELF, 5))
    after = await (await reopen()).devices()
    assert after == Devices(paired=(device,), pending=(request("e"),))


async def test_a_device_changes_and_goes(store: Store) -> None:
    await store.change_devices(lambda known: knock(known, request()))
    await store.change_devices(lambda known: approve(known, "r-d-0", SELF, 5))

    def give(known: Devices) -> tuple[Devices, bool]:
        found = issue(known, "d", "t0ken", 6)
        return (known, False) if found is None else (found[0], True)

    assert await store.change_devices(give)
    assert not await store.change_devices(give)
    assert (await store.devices()).paired[0].token is not None
    await store.change_devices(lambda known: remove(known, "d"))
    assert await store.devices() == Devices()


async def test_a_decision_that_is_refused_changes_nothing(store: Store) -> None:
    await store.change_devices(lambda known: knock(known, request()))
    before = await store.devices()
    with pytest.raises(NotFound):
        await store.change_devices(lambda known: remove(known, "nobody"))
    assert await store.devices() == before
