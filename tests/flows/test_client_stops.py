"""A client stops a turn that only waits for what it spawned."""

from dataclasses import replace

import pytest

from roost.core.models import ModelRequest
from roost.core.sessions import SessionStatus
from roost.testing.scripts import Hang, Script
from tests.flows.nursery import Nursery, call, spawns, task_of
from tests.flows.served import Opened, send


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
