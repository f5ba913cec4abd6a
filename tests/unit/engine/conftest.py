"""A gateway's bench in memory, on a clock that the test moves."""

import pytest

from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from tests.flows.gateways import Bench


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def bench(clock: FakeClock) -> Bench:
    return Bench(MemoryStore(clock), clock)
