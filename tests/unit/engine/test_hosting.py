from collections.abc import Collection
from functools import partial

import anyio

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Account
from roost.core.envelopes import Envelope
from roost.core.errors import StoreUnavailable
from roost.core.leases import Lease
from roost.engine.hosting import LOOK_MS, ChannelHost
from roost.engine.supervisor import Supervisor
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from tests.flows.gateways import ADA, chat
from tests.unit.engine.scenes import HOME
from tests.waiting import until_all_wait

ONE, TWO = Account("one"), Account("two")


class Crowd(MemoryStore):
    """A store that others work on: a test says which channels are free."""

    exclusive = False
    free: frozenset[Account] = frozenset()
    away = False

    async def host_channels(self, lease: Lease, accounts: Collection[Account]) -> frozenset[Account]:
        if self.away:
            raise StoreUnavailable("away")
        return self.free


class Stage:
    def __init__(self, store: MemoryStore | None = None) -> None:
        self.clock = FakeClock()
        self.store = store or Crowd(self.clock)
        self.channels = {ONE: LoopbackChannel(name="one"), TWO: LoopbackChannel(name="two")}
        self.supervisor = Supervisor(self.clock, lambda: 0.0)
        self.hosting = ChannelHost(self.store, self.clock, self.channels, self.supervisor)
        self.heard: list[str] = []
        self.looks = 0

    async def receive(self, envelope: Envelope) -> None:
        self.heard.append(f"{envelope.channel}: {envelope.text}")

    def looked(self) -> None:
        self.looks += 1

    async def serve(self, lease: Lease, group: anyio.abc.TaskGroup) -> None:
        await self.hosting.serve(lease, self.receive, group, self.looked)

    async def pass_look(self) -> None:
        self.clock.advance(LOOK_MS)
        await until_all_wait()

    async def say(self, account: Account, text: str) -> None:
        await self.channels[account].say(text, sender=ADA, chat=chat(ADA))
        await until_all_wait()


async def test_where_one_gateway_owns_the_store_it_serves_all_and_looks_once() -> None:
    clock = FakeClock()
    stage = Stage(MemoryStore(clock))
    lease = await stage.store.acquire_lease(HOME)
    async with anyio.create_task_group() as group:
        group.start_soon(stage.serve, lease, group)
        await until_all_wait()
        await stage.say(ONE, "hi")
        await stage.pass_look()
        assert (stage.looks, stage.hosting.unserved()) == (1, frozenset())
        group.cancel_scope.cancel()
    assert stage.heard == ["one: hi"]


async def test_a_channel_is_taken_when_it_is_free_and_given_up_when_it_is_not() -> None:
    store = Crowd(FakeClock())
    stage = Stage(store)
    lease = await store.acquire_lease(HOME)
    async with anyio.create_task_group() as group:
        group.start_soon(stage.serve, lease, group)
        await until_all_wait()
        assert stage.hosting.unserved() == {ONE, TWO}
        await stage.say(TWO, "early")
        store.free = frozenset({TWO})
        await stage.pass_look()
        assert (stage.heard, set(stage.hosting.served)) == (["two: early"], {TWO})
        store.free = frozenset({ONE})
        await stage.pass_look()
        await stage.say(TWO, "late")
        assert (stage.heard, set(stage.hosting.served)) == (["two: early"], {ONE})
        group.cancel_scope.cancel()


async def test_a_store_that_is_away_for_a_moment_cuts_no_channel_off() -> None:
    store = Crowd(FakeClock())
    store.free = frozenset({ONE})
    stage = Stage(store)
    lease = await store.acquire_lease(HOME)
    async with anyio.create_task_group() as group:
        group.start_soon(stage.supervisor.keep, "channels", partial(stage.serve, lease, group))
        await until_all_wait()
        store.away = True
        await stage.pass_look()
        assert [one.error for one in stage.supervisor.health().parts if one.error] == ["away"]
        await stage.say(ONE, "still there?")
        group.cancel_scope.cancel()
    assert stage.heard == ["one: still there?"]


async def test_what_was_left_is_not_taken_again() -> None:
    store = Crowd(FakeClock())
    store.free = frozenset({ONE})
    stage = Stage(store)
    lease = await store.acquire_lease(HOME)
    async with anyio.create_task_group() as group:
        group.start_soon(stage.serve, lease, group)
        await until_all_wait()
        await stage.hosting.leave(lease)
        await stage.pass_look()
        await stage.say(ONE, "anybody?")
        assert (stage.heard, stage.hosting.served) == ([], {})
        group.cancel_scope.cancel()


class Slow(Crowd):
    """Answers when it is told to."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.answer = anyio.Event()

    async def host_channels(self, lease: Lease, accounts: Collection[Account]) -> frozenset[Account]:
        await self.answer.wait()
        return self.free


async def test_what_is_left_while_it_is_asked_for_is_not_taken() -> None:
    store = Slow(FakeClock())
    store.free = frozenset({ONE})
    stage = Stage(store)
    lease = await store.acquire_lease(HOME)
    async with anyio.create_task_group() as group:
        group.start_soon(stage.serve, lease, group)
        await until_all_wait()
        await stage.hosting.leave(lease)
        store.answer.set()
        await stage.pass_look()
        assert stage.hosting.served == {}
        group.cancel_scope.cancel()
