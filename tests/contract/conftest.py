"""The stores that must keep the contract, each empty and held by one gateway at the start of a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.core.leases import Lease
from roost.ports import Store
from roost.testing.clock import FakeClock
from tests import postgres
from tests.contract.homes import EXCLUSIVE, SHARED, STORES, Home, Reopen


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=STORES)
async def home(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Home]:
    async with opened_home(request, clock, tmp_path) as home:
        yield home


@pytest.fixture(params=EXCLUSIVE)
async def owned(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Home]:
    """A store that one gateway writes at a time."""
    async with opened_home(request, clock, tmp_path) as home:
        yield home


@pytest.fixture(params=SHARED)
async def shared(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Home]:
    """A store that every gateway writes."""
    async with opened_home(request, clock, tmp_path) as home:
        yield home


@asynccontextmanager
async def opened_home(request: pytest.FixtureRequest, clock: FakeClock, folder: Path) -> AsyncIterator[Home]:
    kind: str = request.param
    place: Path | str = folder
    if kind in SHARED:
        place = request.getfixturevalue("postgres_server")
        await postgres.empty(str(place))
    home = Home(kind, place, clock)
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
