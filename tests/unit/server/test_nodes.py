"""What nodes were asked, until they answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio
import pytest

from roost.core.errors import Conflict, RoostError
from roost.core.nodes import Declared, Done, Failed, NodeFailed, NodeOffline, NodeTimeout
from roost.core.principals import node
from roost.server.auth import Admitted
from roost.server.clients import Clients, Connected
from roost.server.nodes import MOST_OF_ONE, REMEMBERED, Nodes, Wish
from roost.testing.clock import FakeClock
from tests.unit.server.test_clients import connected

SNAP = Wish(node_id="d", command="snap", params=None, limit_ms=1_000, name="w")


def there(clients: Clients, name: str = "c", since: int = 1) -> Connected:
    client = connected(name)
    client.admitted = Admitted(principal=node("d"), method="device-token", scopes=(), device="d")
    client.device, client.since = "d", since
    client.declared = Declared(commands=("snap",))
    clients.add(client)
    return client


@asynccontextmanager
async def asking(nodes: Nodes, wish: Wish, request_id: str) -> AsyncIterator[None]:
    """Asks while the block runs; what comes of it is raised at its end."""
    failed: list[RoostError] = []

    async def ask() -> None:
        try:
            await nodes.invoke(wish, request_id)
        except RoostError as error:
            failed.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        yield
    if failed:
        raise failed[0]


async def test_it_is_asked_over_its_newest_connection() -> None:
    clients = Clients(bytes)
    nodes = Nodes(clients, FakeClock())
    assert nodes.connected("d") is None
    newer, _ = there(clients, "new", 2), there(clients, "old")
    assert nodes.connected("d") is newer


async def test_who_waits_longer_than_asked_for_is_told_so_and_a_late_answer_is_kept() -> None:
    clients, clock = Clients(bytes), FakeClock()
    nodes, client = Nodes(clients, clock), there(clients)
    with pytest.raises(NodeTimeout):
        async with asking(nodes, SNAP, "r1"):
            clock.advance(1_000)
    assert nodes.answered(client, "r1", Done(payload=7))
    assert not nodes.answered(client, "r1", Done(payload=8))
    # Its name knows what came of it: it is not asked again.
    assert (await nodes.invoke(SNAP, "r2")).payload == 7


async def test_what_fails_and_who_leaves_is_told() -> None:
    clients = Clients(bytes)
    nodes, client = Nodes(clients, FakeClock()), there(clients)
    with pytest.raises(NodeFailed):
        async with asking(nodes, SNAP, "r1"):
            nodes.answered(client, "r1", Failed(message="no"))
    nodes.left(there(clients, "another", 0))
    with pytest.raises(NodeOffline):
        async with asking(nodes, replace(SNAP, name="other"), "r2"):
            nodes.left(client)


async def test_so_much_is_asked_of_one_node_at_a_time() -> None:
    clients = Clients(bytes)
    nodes, _ = Nodes(clients, FakeClock()), there(clients)
    async with anyio.create_task_group() as group:
        for number in range(MOST_OF_ONE):
            group.start_soon(partial(nodes.invoke, replace(SNAP, name=f"w{number}"), f"r{number}"))
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Conflict):
            await nodes.invoke(replace(SNAP, name="one more"), "r")
        group.cancel_scope.cancel()


async def test_of_what_is_over_the_oldest_is_forgotten() -> None:
    clients = Clients(bytes)
    nodes, client = Nodes(clients, FakeClock()), there(clients)
    for number in range(REMEMBERED + 1):
        async with asking(nodes, replace(SNAP, name=f"w{number}"), f"r{number}"):
            nodes.answered(client, f"r{number}", Done(payload=number))
    assert (await nodes.invoke(replace(SNAP, name="w1"), "again")).payload == 1
    async with asking(nodes, replace(SNAP, name="w0"), "again"):
        assert nodes.answered(client, "again", Done(payload="asked anew"))
