"""What ends a turn of a client before its answer, and what the client is told."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.client.turns import message_text
from roost.clock import SystemClock
from roost.core.children import told_id
from roost.core.entries import Entry
from roost.core.messages import ToolResult
from roost.core.models import ModelRequest
from roost.core.runs import Claim
from roost.core.sessions import SessionStatus
from roost.core.spawning import run_of
from roost.ports import Begin, Clock, Render
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import Hang, Say, Script
from roost.testing.wires import LocalClient
from tests.flows.gateways import Bench
from tests.flows.nursery import Nursery, call, let_time_pass, newest, spawns, task_of
from tests.flows.served import Gate, Opened, gate_of, send

LIMIT_S = 5


@pytest.mark.requirement("D51")
@pytest.mark.parametrize("by_name", [True, False])
async def test_a_turn_that_waits_for_its_children_is_stopped_with_them_and_nobody_waits_for_it(
    opened: Opened, by_name: bool
) -> None:
    async with opened() as (gate, client):

        def act(request: ModelRequest) -> Script:
            return [Hang()] if task_of(request) else [*spawns("a", "b"), call("sessions_yield")]

        nursery = Nursery(gate.bench, act)
        await gate.engine.reload(replace(gate.engine.rules, cast=nursery.cast))
        await client.call("chat.send", send("go", "run-1"))
        assert (await client.event("chat", runId="run-1", state="final"))["yielded"]
        await gate.bench.model.asked(3)
        if by_name:
            done = await client.call("chat.abort", {"sessionKey": "main", "runId": "run-1"})
            assert (done["aborted"], done["runIds"]) == (True, ["run-1"])
        else:
            await client.call("chat.send", send("/stop", "stop"))
        waited = await client.call("agent.wait", {"runId": "run-1", "timeoutMs": 3_600_000})
        assert waited["status"] == "timeout"
        await gate.engine.settled()
        assert [row.status for row in await nursery.descendants()] == [SessionStatus.KILLED] * 2
        again = await client.call("chat.abort", {"sessionKey": "main", "runId": "run-1"})
        assert (again["aborted"], again["runIds"]) == (False, [])


@asynccontextmanager
async def gates_by(clock: FakeClock, folder: Path) -> AsyncIterator[tuple[Gate, LocalClient]]:
    bench = Bench(MemoryStore(clock, FakeClock()), clock)
    with anyio.fail_after(60):
        async with gate_of(bench, folder) as gate, gate.client() as client:
            yield gate, client


@pytest.mark.requirement("P27")
async def test_a_stop_that_is_typed_is_answered_as_one_that_is_called_and_who_waits_is_told(
    opened: Opened,
) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Hang(),))
        await client.call("chat.send", send("go", "run-1"))
        await gate.bench.model.asked(1)
        await client.call("chat.send", send("and then", "run-2", queueMode="followup"))
        stopped = await client.call("chat.send", send("/stop", "stop-1"))
        assert stopped == {
            "runId": "stop-1",
            "sessionKey": "agent:main:main",
            "status": "started",
            "ok": True,
            "aborted": True,
            "runIds": ["run-1", "run-2"],
        }
        await client.event("chat", runId="run-1", state="aborted")
        waited = await client.call("agent.wait", {"runId": "run-1"})
        assert (waited["status"], waited["stopReason"]) == ("timeout", "rpc")
        idle = await client.call("chat.send", send("/stop", "stop-2"))
        assert (idle["ok"], idle["aborted"], idle["runIds"]) == (True, False, [])
        gate.bench.model.add((Hang(),))
        await client.call("chat.send", send("once more", "run-3"))
        running = await client.call("agent.wait", {"runId": "run-3", "timeoutMs": 0})
        assert (running["status"], "stopReason" in running) == ("timeout", False)
        by_key = await client.call("sessions.send", {"key": "main", "message": "/stop"})
        assert by_key["runIds"] == ["run-3"]


@pytest.mark.requirement("D21")
async def test_a_turn_whose_time_is_over_while_it_waits_for_its_children_is_told_as_failed(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    async with gates_by(clock, tmp_path) as (gate, client):

        def act(request: ModelRequest) -> Script:
            if task_of(request):
                return [Hang()]
            return [call("sessions_yield")] if isinstance(newest(request), ToolResult) else spawns("endless")

        nursery = Nursery(gate.bench, act)
        await gate.engine.reload(replace(gate.engine.rules, cast=nursery.cast))
        await client.call("chat.send", send("go", "run-1", timeoutMs=LIMIT_S * 1_000))
        assert (await client.event("chat", runId="run-1", state="final"))["yielded"]
        await let_time_pass(gate.bench.store, clock, LIMIT_S)
        failed = await client.event("chat", runId="run-1", state="error")
        assert (failed["errorKind"], "its time was over" in failed["errorMessage"]) == ("timeout", True)


@pytest.mark.requirement("P1", "D21")
async def test_a_child_whose_time_is_over_while_it_waits_for_its_own_is_told_in_its_requesters_chat(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    async with gates_by(clock, tmp_path) as (gate, client):

        def act(request: ModelRequest) -> Script:
            done = isinstance(newest(request), ToolResult)
            match task_of(request):
                case "endless":
                    return [Hang()]
                case "whole":
                    return [call("sessions_yield")] if done else spawns("endless")
                case _:
                    return [Say("Begun.")] if done else spawns("whole", runTimeoutSeconds=LIMIT_S)

        nursery = Nursery(gate.bench, act)
        await gate.engine.reload(replace(gate.engine.rules, cast=nursery.cast))
        await client.call("chat.send", send("go", "run-1"))
        await client.event("chat", runId="run-1", state="final")
        await let_time_pass(gate.bench.store, clock, LIMIT_S)
        child, *_ = await nursery.descendants()
        told = await client.event("chat", runId=f"inject-{told_id(run_of(child.key))}")
        assert "Status: timeout" in message_text(told["message"])


class Held(MemoryStore):
    """A store in which the first run does not get to read what it is to answer."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.claimed, self._first = anyio.Event(), True

    async def take_inputs(
        self, claim: Claim, render: Render, begin: Begin | None = None
    ) -> tuple[Entry, ...]:
        if self._first:
            self._first = False
            self.claimed.set()
            await anyio.sleep_forever()
        return await super().take_inputs(claim, render, begin)


async def test_a_turn_that_a_newer_message_ends_is_told_as_aborted_once_and_only_that_is_answered(
    tmp_path: Path,
) -> None:
    clock = SystemClock()
    store = Held(clock)
    with anyio.fail_after(60):
        async with gate_of(Bench(store, clock), tmp_path) as gate, gate.client() as client:
            gate.bench.model.add((Say("both"),))
            await client.call("chat.send", send("one", "run-1"))
            await store.claimed.wait()
            await client.call("chat.send", send("two", "run-2", queueMode="interrupt"))
            assert await _end_of(client, "run-2") == ("ok", "both")
            assert await _end_of(client, "run-1") == ("timeout", None)
            await gate.engine.settled()
            assert _ends_told(client) == [("run-1", "aborted"), ("run-2", "final")]
            assert await _said(client) == ["one", "two", "both"]


async def test_what_steered_a_turn_that_a_newer_message_ends_stands_before_that(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("half"), Hang()), (Say("both"),))
        await client.call("chat.send", send("one", "run-1"))
        await client.event("chat", runId="run-1", state="delta")
        await client.call("chat.send", send("more", "run-2", queueMode="steer"))
        await client.call("chat.send", send("two", "run-3", queueMode="interrupt"))
        assert await _end_of(client, "run-3") == ("ok", "both")
        assert await _end_of(client, "run-1") == await _end_of(client, "run-2") == ("timeout", None)
        await gate.engine.settled()
        assert _ends_told(client) == [("run-2", "final"), ("run-1", "aborted"), ("run-3", "final")]
        assert await _said(client) == ["one", "half", "more", "two", "both"]


async def _end_of(client: LocalClient, name: str) -> tuple[str, str | None]:
    waited = await client.call("agent.wait", {"runId": name, "timeoutMs": 3_600_000})
    return waited["status"], waited.get("terminalReply", {}).get("text")


def _ends_told(client: LocalClient) -> list[tuple[str, str]]:
    told = ((one["runId"], one["state"]) for one in client.told("chat"))
    return [(name, state) for name, state in told if state in ("final", "aborted", "error")]


async def _said(client: LocalClient) -> list[str]:
    rows = (await client.call("chat.history", {"sessionKey": "main"}))["messages"]
    return [message_text(row) for row in rows]
