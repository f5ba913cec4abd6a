"""Figures of a gateway that works: each is moved by what it is named for."""

from dataclasses import replace

import anyio

from roost.core.addresses import Address
from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState
from roost.core.effects import AddDelivery, QueueRun
from roost.core.keys import SessionKey
from roost.core.workload import UNDONE
from roost.engine.outbox import DELIVERIES
from roost.server.metrics import LOOK_MS
from roost.testing import builders
from roost.testing.clock import FakeClock
from roost.testing.scripts import Say, Until
from tests.flows.served import Opened

LATER = 2**52
STEERING = {"sessionKey": "main", "message": "more", "queueMode": "steer"}


async def test_every_figure_moves_by_what_it_is_named_for(opened: Opened) -> None:
    async with opened() as (gate, client), gate.browser() as http:

        async def figures() -> dict[str, float]:
            lines = (await http.get("/metrics")).text.splitlines()
            pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
            return {name: float(value) for name, value in pairs}

        async def figure(name: str) -> float:
            return (await figures())[name]

        assert await figure("roost_connections") == 1
        async with gate.client():
            assert await figure("roost_connections") == 2
        assert await figure("roost_leases") == 1
        before = await figure("roost_event_loop_lag_seconds_count")
        async with anyio.create_task_group() as group:
            clock = FakeClock()
            group.start_soon(gate.house.meters.watch, clock)
            await anyio.wait_all_tasks_blocked()
            clock.advance(LOOK_MS)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert await figure("roost_event_loop_lag_seconds_count") == before + 1

        thought = anyio.Event()
        gate.bench.model.add((Until(thought), Say("Hello")), (Say("again"),))
        await client.call("chat.send", {"sessionKey": "main", "message": "hi", "idempotencyKey": "a"})
        await gate.bench.model.asked(1)
        assert await figure('roost_runs{state="running"}') == 1
        assert await figure('roost_runs{state="queued"}') == 0
        key, address = SessionKey.named("main", "main"), Address(channel="nowhere", to="x")
        queued = replace(builders.run("r-queued", key), ready_at=LATER)
        lost = Delivery(id="d", key=key, address=address, kind=DeliveryKind.NOTICE, text="x", created_at=0)
        await gate.house.store.change_session(
            key, lambda _: (QueueRun(run=queued), AddDelivery(delivery=lost))
        )
        assert await figure('roost_runs{state="queued"}') == 1
        # Nobody serves that channel: it is given up at some time, and counted all the while.
        now = await figures()
        assert sum(now[f'roost_deliveries{{state="{state}"}}'] for state in UNDONE) == 1
        await client.call("chat.send", {**STEERING, "idempotencyKey": "b"})
        await client.call("chat.send", {**STEERING, "idempotencyKey": "c"})
        assert await figure("roost_messages_waiting") == 2

        async def given_up() -> Delivery | None:
            return next(iter(await gate.house.store.deliveries(DeliveryState.FAILED, 5)), None)

        undone = await gate.house.store.wait_for(DELIVERIES, given_up)
        ended = 'roost_deliveries_ended_total{state="%s"}'
        assert await figure(ended % "failed") == 1
        await client.call("deliveries.dismiss", {"id": undone.id})
        assert await figure(ended % "dismissed") == 1
        assert await figure(ended % "confirmed") == 0
        turns = 'roost_run_seconds_count{kind="turn",state="done"}'
        thought.set()
        await client.event("chat", state="final", runId="a")
        assert await figure(turns) >= 1
        assert await figure("roost_run_wait_seconds_count") >= 1
