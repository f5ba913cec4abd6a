"""A gateway's store in each of its forms, and an engine in miniature on top of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from roost.core.leases import Gateway, Lease
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.store import SqliteOptions
from roost.testing.clock import FakeClock
from roost.testing.scripts import Say
from roost.testing.wires import LocalClient
from tests.flows.askers import Configured, configured_in
from tests.flows.contexts import House, houses
from tests.flows.driver import Driver
from tests.flows.fleets import Fleet, fleets
from tests.flows.gateways import Bench, benches
from tests.flows.nursery import Nursery, nurseries
from tests.flows.served import Gate, Opened, gates
from tests.flows.stages import Stage, staged
from tests.grounds import KINDS, GroundOf, laid

# Gateways die here, power never fails: nothing has to wait for the disk.
KILLS_ONLY = SqliteOptions(synchronous="OFF")


class Home:
    """Where the store lives. Leases are judged by a clock of the database's own, which stands still."""

    store: Store
    lease: Lease

    def __init__(self, kind: str, folder: Path, clock: FakeClock) -> None:
        self.durable = kind != "memory"
        self._path = folder / "roost.db"
        self._clock, self._database_clock = clock, FakeClock()
        self._processes = 0

    async def start(self) -> None:
        """The next process of the gateway. Rows in memory outlive it, everything else is read from the file."""
        if self.durable or not self._processes:
            self.store = self._opened()
        self._processes += 1
        gateway = Gateway(name="home", holder=f"process-{self._processes}")
        self.lease = await self.store.acquire_lease(gateway)

    async def restart(self) -> None:
        """What was not committed is gone, and with it every claim."""
        if self.durable:
            await self.store.close()
        await self.start()

    def _opened(self) -> Store:
        if self.durable:
            return SqliteStore.open(
                laid(self._path), self._clock, database_clock=self._database_clock, options=KILLS_ONLY
            )
        return MemoryStore(self._clock, self._database_clock)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
async def home(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Home]:
    home = Home(request.param, tmp_path, clock)
    await home.start()
    yield home
    assert await home.store.check() == ()
    await home.store.close()


@pytest.fixture
def driver(home: Home, clock: FakeClock) -> Driver:
    return Driver(home, clock)


@pytest.fixture(params=["memory", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """A gateway, and a client of it that shows tools."""

    @asynccontextmanager
    async def open_gate() -> AsyncIterator[tuple[Gate, LocalClient]]:
        with anyio.fail_after(60):
            async with gates(request.param, tmp_path) as gate, gate.client(caps=["tool-events"]) as client:
                yield gate, client

    return open_gate


@pytest.fixture(params=KINDS)
async def nursery(request: pytest.FixtureRequest, ground_of: GroundOf) -> AsyncIterator[Nursery]:
    ground = await ground_of(request.param).fresh("nursery")
    async with nurseries(ground, lambda request: [Say("nothing")]) as nursery:
        yield nursery


@pytest.fixture(params=["memory", "sqlite"])
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    async with benches(request.param, tmp_path) as bench:
        yield staged(bench)


@pytest.fixture(params=["memory", "sqlite"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    async with benches(request.param, tmp_path) as bench:
        yield bench


@pytest.fixture(params=["memory", "sqlite"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    async with houses(request.param, tmp_path) as house:
        yield house


@pytest.fixture
async def fleet(request: pytest.FixtureRequest, postgres_server: str) -> AsyncIterator[Fleet]:
    async with fleets(postgres_server, getattr(request, "param", "")) as fleet:
        yield fleet


@pytest.fixture(scope="session")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Configured:
    """Settings for every level and sandbox in the table of guards."""
    return configured_in(tmp_path_factory.mktemp("configured"))
