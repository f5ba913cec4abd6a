"""What the owner is told of a firing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from roost.core.firings import Firing, FiringState, PutFiring
from roost.protocol.scopes import Scope
from roost.server.clients import Connected
from roost.server.firings import Firings
from roost.server.house import House
from roost.testing.builders import MAIN
from tests.contract.scenes import opened
from tests.flows.served import gates
from tests.unit.server.test_clients import connected, sent
from tests.waiting import until_all_wait

STATES = {"started": ["started"], "ok": ["started", "finished"], "skipped": ["finished"]}


async def put(house: House, name: str, state: str) -> None:
    row = Firing(id=name, job_id=name, due_at=1, at=1, state=FiringState(state), key=MAIN)
    await house.store.change_session(MAIN, lambda snapshot: (PutFiring(firing=row),))


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[tuple[House, Connected]]:
    """One who hears of what comes after what was there."""
    with anyio.fail_after(60):
        async with gates("memory", folder) as gate, anyio.create_task_group() as group:
            house = House(gate.engine, gate.house.about)
            client = connected("owner", Scope.READ)
            house.clients.add(client)
            await opened(house.store)
            await put(house, "old", "ok")
            group.start_soon(Firings(house).serve)
            await until_all_wait()
            yield house, client
            group.cancel_scope.cancel()


@pytest.mark.parametrize("state", list(STATES))
async def test_a_firing_is_told_from_its_beginning_even_if_it_is_over(tmp_path: Path, state: str) -> None:
    async with listening(tmp_path) as (house, client):
        await put(house, "new", state)
        told = [(await sent(client))["payload"] for _ in STATES[state]]
        assert [one["action"] for one in told] == STATES[state]
        assert {one["jobId"] for one in told} == {"new"}


async def test_what_was_told_is_not_told_again(tmp_path: Path) -> None:
    async with listening(tmp_path) as (house, client):
        for state in ("started", "started", "ok", "ok"):
            await put(house, "one", state)
        await put(house, "two", "skipped")
        told = [(await sent(client))["payload"] for _ in range(3)]
        assert [(one["jobId"], one["action"]) for one in told] == [
            ("one", "started"),
            ("one", "finished"),
            ("two", "finished"),
        ]
