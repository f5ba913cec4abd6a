"""The server goes away in the middle of the load and comes back: what was acknowledged is there, once."""

import asyncio
from functools import partial

import pytest

from roost.core.errors import StoreUnavailable
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.runs import Run
from roost.core.turntaking import Limits, choose
from roost.ports import Store
from roost.stores.postgres import PostgresStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from tests import postgres
from tests.parts import NeedPart
from tests.scale import count

GATEWAYS = 3
SESSIONS = 10
MESSAGES = count(150, 3_000)
RESTARTS = count(1, 5)
PICK = partial(choose, limits=Limits(ceiling=4))


def key_of(number: int) -> SessionKey:
    return SessionKey.named("main", f"busy-{number % SESSIONS}")


class Crowd:
    """Gateways that accept and run whatever there is, and try again what the store could not do."""

    def __init__(self, stores: list[Store], leases: list[Lease]) -> None:
        self._stores = stores
        self._leases = leases
        self.accepted: set[str] = set()
        self.begun: list[str] = []
        self.milestones = {
            MESSAGES * restart // (2 * RESTARTS): asyncio.Event() for restart in range(1, RESTARTS + 1)
        }

    async def accept(self, number: int) -> None:
        message = builders.inbound(f"m-{number}", key_of(number))
        decide = builders.accept(message, f"r-{number}", f"s-{number % SESSIONS}")
        while message.id not in self.accepted:
            try:
                await self._stores[number % GATEWAYS].accept_inbound(message, decide)
            except StoreUnavailable:
                await asyncio.sleep(0.05)
            else:
                self.accepted.add(message.id)

    async def run(self, place: int) -> None:
        store, lease = self._stores[place], self._leases[place]
        while len(self.begun) < MESSAGES:
            try:
                for run in await store.claim_runs(lease, PICK):
                    self.begun.append(run.id)
                    if (milestone := self.milestones.get(len(self.begun))) is not None:
                        milestone.set()
                    await self._finish(store, run)
            except StoreUnavailable:
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.005)

    async def _finish(self, store: Store, run: Run) -> None:
        assert run.claim is not None
        drafts = (builders.said(f"said by {run.id}", "words"),)
        taken = False
        while True:
            try:
                if not taken:
                    await store.take_inputs(run.claim, lambda records: drafts)
                    taken = True
                await store.finish_run(run.claim, lambda snapshot: (builders.done(run.id),))
            except StoreUnavailable:
                await asyncio.sleep(0.05)
            else:
                return


@pytest.mark.timeout(600)
@pytest.mark.requirement("P30")
async def test_a_restart_of_the_server_loses_and_doubles_nothing(need_part: NeedPart) -> None:
    programs = postgres.binaries()
    need_part("PostgreSQL", present=programs is not None, remedy=postgres.REMEDY)
    assert programs is not None
    with postgres.running(programs) as server:
        clock = FakeClock()
        stores: list[Store] = [
            await PostgresStore.open(server.address, clock, database_clock=clock) for _ in range(GATEWAYS)
        ]
        leases = [
            await store.acquire_lease(Gateway(name=f"g-{place}", holder="1"))
            for place, store in enumerate(stores)
        ]
        crowd = Crowd(stores, leases)
        async with asyncio.TaskGroup() as group:
            for number in range(MESSAGES):
                group.create_task(crowd.accept(number))
            for place in range(GATEWAYS):
                group.create_task(crowd.run(place))
            for milestone in crowd.milestones.values():
                await milestone.wait()
                await asyncio.to_thread(server.restart)
        await assert_all_said_once(stores[0], crowd)
        for store in stores:
            await store.close()


async def assert_all_said_once(store: Store, crowd: Crowd) -> None:
    assert len(crowd.accepted) == MESSAGES
    assert sorted(crowd.begun) == sorted(f"r-{number}" for number in range(MESSAGES))
    assert await store.check() == ()
    for number in range(SESSIONS):
        session = await store.session(key_of(number))
        assert session is not None
        said = [entry.id for entry in await store.entries(session.session_id)]
        accepted = [event.ref for event in await store.events(session.key, after=0, limit=100_000)]
        order = [ref for ref in accepted if ref.startswith("r-")]
        assert said == [f"said by {name}" for name in dict.fromkeys(order)]
        numbers = [event.number for event in await store.events(session.key, after=0, limit=100_000)]
        assert numbers == list(range(1, session.events + 1))
