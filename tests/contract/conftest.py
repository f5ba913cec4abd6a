"""The stores that must keep the contract, each empty and held by one gateway at the start of a test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roost.core.leases import Lease
from roost.ports import Store
from roost.testing.clock import FakeClock
from tests.contract.homes import STORES, Home, Reopen


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=STORES)
async def home(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Home]:
    home = Home(request.param, tmp_path, clock)
    await home.open()
    yield home
    assert await home.store.check() == ()
    await home.close()


@pytest.fixture
def store(home: Home) -> Store:
    return home.store


@pytest.fixture
def lease(home: Home) -> Lease:
    return home.lease


@pytest.fixture
def reopen(home: Home) -> Reopen:
    return home.reopen
