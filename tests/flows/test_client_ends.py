"""Of everything that a client sent it is told once how it ended, whatever became of the run that was to answer it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.clock import SystemClock
from roost.core.inbound import Accepted, Inbound, InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.messages import ToolResult
from roost.core.models import ModelRequest
from roost.core.principals import OWNER, Principal
from roost.core.queuesettings import DropPolicy, QueueMode, QueuePolicy, QueueSettings
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.snapshots import Decide
from roost.core.turntaking import Limits
from roost.stores.memory import MemoryStore
from roost.testing.scripts import Hang, Say, Script, Until
from roost.testing.wires import LocalClient
from tests.flows.gateways import Bench, benches
from tests.flows.nursery import Nursery, newest, spawns, task_of
from tests.flows.served import Gate, Opened, gate_of, send
from tests.waiting import until_all_wait

ONE_WAITS = QueuePolicy(base=QueueSettings(mode=QueueMode.COLLECT, debounce_ms=0, cap=1, drop=DropPolicy.OLD))
ALL_WAIT = QueuePolicy(base=QueueSettings(mode=QueueMode.COLLECT, debounce_ms=0))
KINDS = pytest.mark.parametrize("kind", ["memory", "sqlite"])

pytestmark = pytest.mark.requirement("P1")


@asynccontextmanager
async def resting(bench: Bench, folder: Path) -> AsyncIterator[tuple[Gate, LocalClient]]:
    """A gateway that begins no run, and the owner's client."""
    bench.change(limits=Limits(ceiling=0))
    with anyio.fail_after(60):
        async with gate_of(bench, folder) as gate, gate.client() as client:
            yield gate, client


async def test_of_several_that_fall_out_of_a_full_queue_at_once_each_is_told(opened: Opened) -> None:
    names = [f"run-{number}" for number in range(1, 6)]
    async with opened() as (gate, client), gate.client() as second, gate.client() as third:
        await gate.engine.reload(replace(gate.engine.rules, queue=ONE_WAITS))
        goes_on = anyio.Event()
        gate.bench.model.add((Until(goes_on), Say("to the first")), (Say("to the last"),))
        await client.call("chat.send", send("first", "run-1"))
        await gate.bench.model.asked(1)
        await client.call("chat.send", send("next", "run-2"))
        askers = zip(names[2:], (client, second, third), strict=True)
        asked = [(one, one.send("chat.send", send(name, name))) for name, one in askers]
        for one, request in asked:
            await one.answer(request)
        read = [await gate.house.store.inbound_by_key(OWNER, None, name) for name in names]
        fell = [record is not None and record.state is InboundState.DEAD for record in read]
        goes_on.set()
        await client.ended(*names)
        await gate.engine.settled()
        await until_all_wait()
        told = [client.ends(name) for name in names]
    assert (fell[:2], fell.count(True)) == ([False, True], 3)
    assert told == [["aborted" if one else "final"] for one in fell]


class Staggered(MemoryStore):
    """A message that is taken in stays unknown for a while to who sent it; something happens meanwhile."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def accept_inbound(self, inbound: Inbound, decide: Decide) -> Accepted:
        accepted = await super().accept_inbound(inbound, decide)
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            await happens()
        return accepted


async def test_what_joins_a_run_while_another_ends_is_told_by_its_sender_alone(tmp_path: Path) -> None:
    clock = SystemClock()
    store = Staggered(clock)
    with anyio.fail_after(60):
        async with gate_of(Bench(store, clock), tmp_path) as gate, gate.client() as client:
            await gate.engine.reload(replace(gate.engine.rules, queue=ALL_WAIT))
            goes_on = anyio.Event()
            gate.bench.model.add((Until(goes_on), Say("to the first")), (Say("to the others"),))
            await client.call("chat.send", send("first", "run-1"))
            await gate.bench.model.asked(1)
            await client.call("chat.send", send("next", "run-2"))
            await client.call("chat.send", send("apart", "run-3", thinking="high"))
            async with gate.client() as other:

                async def stop_another() -> None:
                    await other.call("chat.abort", {"sessionKey": "main", "runId": "run-3"})
                    await client.ended("run-3")
                    await until_all_wait()

                store.meanwhile = stop_another
                await client.call("chat.send", send("last", "run-4"))
            goes_on.set()
            await client.ended("run-1", "run-2", "run-4")
            await until_all_wait()
            told = [client.ends(f"run-{number}") for number in range(1, 5)]
            waiting = gate.house.sends.awaited()
    assert (told, waiting) == ([["final"], ["final"], ["aborted"], ["final"]], frozenset())


async def test_what_is_ended_before_its_sender_knows_that_it_opened_a_run_is_told_once(
    tmp_path: Path,
) -> None:
    clock = SystemClock()
    store = Staggered(clock)
    bench = Bench(store, clock)
    async with resting(bench, tmp_path) as (gate, client), gate.client() as other:

        async def stop() -> None:
            await other.call("chat.abort", {"sessionKey": "main"})
            await until_all_wait()

        store.meanwhile = stop
        await client.call("chat.send", send("hello", "run-1"))
        await client.ended("run-1")
        await until_all_wait()
        assert (client.ends("run-1"), gate.house.sends.awaited()) == (["aborted"], frozenset())


class Interrupted(MemoryStore):
    """Something happens while a message is looked up."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def inbound_by_key(
        self, principal: Principal, key: SessionKey | None, idempotency_key: str
    ) -> InboundRecord | None:
        found = await super().inbound_by_key(principal, key, idempotency_key)
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            await happens()
        return found


async def test_who_joins_a_run_that_is_stopped_meanwhile_is_told_and_nobody_twice(tmp_path: Path) -> None:
    clock = SystemClock()
    store = Interrupted(clock)
    names = ("run-1", "run-2", "run-3")
    with anyio.fail_after(60):
        async with gate_of(Bench(store, clock), tmp_path) as gate, gate.client() as client:
            await gate.engine.reload(replace(gate.engine.rules, queue=ONE_WAITS))
            gate.bench.model.add((Hang(),))
            await client.call("chat.send", send("first", "run-1"))
            await gate.bench.model.asked(1)
            await client.call("chat.send", send("next", "run-2"))
            async with gate.client() as other:

                async def stop() -> None:
                    await other.call("chat.abort", {"sessionKey": "main"})
                    await until_all_wait()

                store.meanwhile = stop
                await client.call("chat.send", send("last", "run-3"))
            await client.ended(*names)
            await until_all_wait()
            told = [client.ends(name) for name in names]
            waiting = gate.house.sends.awaited()
    assert ([len(ends) for ends in told], waiting) == ([1] * 3, frozenset())


class Settling(Interrupted):
    """Of a run that never began the end is being told when it is looked up what became of its message."""

    opener = "run-2"

    def __init__(self, clock: SystemClock) -> None:
        super().__init__(clock)
        self._ended = False
        self._looked_up = anyio.Event()

    async def inbound_by_key(
        self, principal: Principal, key: SessionKey | None, idempotency_key: str
    ) -> InboundRecord | None:
        if idempotency_key == self.opener:
            self._looked_up.set()
        return await super().inbound_by_key(principal, key, idempotency_key)

    async def run(self, run_id: str) -> Run | None:
        found = await super().run(run_id)
        self._ended = self._ended or bool(found and found.outcome and found.started_at is None)
        return found

    async def session(self, key: SessionKey) -> Session | None:
        if self._ended:
            await self._looked_up.wait()
        return await super().session(key)


async def test_who_joins_a_run_whose_end_is_being_told_is_told_and_nobody_twice(tmp_path: Path) -> None:
    clock = SystemClock()
    store = Settling(clock)
    names = ("run-1", "run-2", "run-3")
    with anyio.fail_after(60):
        async with (
            gate_of(Bench(store, clock), tmp_path) as gate,
            gate.client() as client,
            gate.client() as other,
            # Where somebody may not see all, it is looked up who may.
            gate.client(auth={"token": "alice-token"}),
        ):
            await gate.engine.reload(replace(gate.engine.rules, queue=ONE_WAITS))
            gate.bench.model.add((Hang(),))
            await client.call("chat.send", send("first", "run-1"))
            await gate.bench.model.asked(1)
            await client.call("chat.send", send("next", store.opener))

            async def stop() -> None:
                other.send("chat.abort", {"sessionKey": "main"})
                await until_all_wait()

            store.meanwhile = stop
            await client.call("chat.send", send("last", "run-3"))
            await client.ended("run-1", "run-2")
            await until_all_wait()
            told = [client.ends(name) for name in names]
            waiting = gate.house.sends.awaited()
    assert ([len(ends) for ends in told], waiting) == ([1] * 3, frozenset())


@KINDS
@pytest.mark.parametrize("token", ["secret-token", "alice-token"])
async def test_what_waited_in_a_session_that_is_deleted_is_told_to_the_owner_whoever_else_listens(
    kind: str, token: str, tmp_path: Path
) -> None:
    async with (
        benches(kind, tmp_path) as bench,
        resting(bench, tmp_path) as (gate, client),
        gate.client(auth={"token": token}),
    ):
        await client.call("sessions.create", {"key": "side"})
        await client.call("chat.send", {**send("hello", "run-1"), "sessionKey": "side"})
        await client.call("sessions.delete", {"key": "side"})
        await client.ended("run-1")
        await until_all_wait()
        assert len(client.ends("run-1")) == 1
        assert gate.house.sends.awaited() == frozenset()


async def test_the_owner_hears_the_end_of_a_session_that_is_gone_also_when_others_are_connected(
    opened: Opened,
) -> None:
    async with opened() as (gate, client), gate.client(auth={"token": "alice-token"}):

        def act(request: ModelRequest) -> Script:
            if task_of(request):
                return [Say("found")]
            begun = isinstance(newest(request), ToolResult)
            return [Say("Begun.")] if begun else spawns("find it", cleanup="delete")

        nursery = Nursery(gate.bench, act)
        await gate.engine.reload(replace(gate.engine.rules, cast=nursery.cast))
        await client.call("chat.send", send("go", "run-1"))
        await client.ended("run-1")
        await gate.engine.settled()
        await client.ended(*{one["runId"] for one in client.told("chat", state="delta")})


async def test_what_is_said_and_taken_up_at_once_is_told_as_sent(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("hello"),))
        key = (await client.call("sessions.create", {"key": "trip"}))["key"]
        await client.call("sessions.subscribe", {})
        await client.call("chat.send", {"sessionKey": key, "message": "hi", "idempotencyKey": "run-1"})
        await client.ended("run-1")
        await client.event("sessions.changed", sessionKey=key, phase="end")
        told = client.told("sessions.changed", sessionKey=key)
        assert {one["reason"] for one in told if "phase" not in one} <= {"send"}
