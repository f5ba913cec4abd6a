"""Repair: a sound store stays as it is, and everything in it."""

import pytest

from roost.core.leases import Lease
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.contract.dumps import dump
from tests.contract.scenes import opened, started


@pytest.mark.requirement("P5")
async def test_repairing_a_sound_store_changes_nothing(store: Store, lease: Lease) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", "zebra"), builders.answered("e-2", "no")))
    await started(store, lease, "r-1")
    before = await dump(store)
    assert await store.repair() == ()
    assert await store.check() == ()
    assert await dump(store) == before
