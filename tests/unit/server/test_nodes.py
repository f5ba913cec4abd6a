"""What nodes were asked, until they answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from roost.core.errors import Conflict, RoostError
from roost.core.nodes import (
    Declared,
    Done,
    Failed,
    NodeAnswered,
    NodeFailed,
    NodeOffline,
    NodeTimeout,
    NodeUnknown,
)
from roost.core.principals import node
from roost.server.auth import Admitted
from roost.server.clients import Clients, Connected
from roost.server.nodes import KEPT_BYTES, KEPT_MS, MOST_OF_ONE, REMEMBERED, Nodes, Wish
from roost.testing.clock import FakeClock
from tests.unit.server.test_clients import connected
from tests.waiting import until_all_wait

SNAP = Wish(node_id="d", command="snap", params=None, limit_ms=1_000, name="w")


def there(clients: Clients, name: str = "c", since: int = 1) -> Connected:
    client = replace(
        connected(name),
        admitted=Admitted(principal=node("d"), method="device-token", scopes=(), device="d"),
        device="d",
        since=since,
        declared=Declared(commands=("snap",)),
    )
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
        await until_all_wait()
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
    with pytest.raises(NodeUnknown) as left:
        async with asking(nodes, replace(SNAP, name="other"), "r2"):
            nodes.left(client)
    # Nobody knows what it did: told again is only that.
    assert not left.value.retryable
    with pytest.raises(NodeFailed):
        await nodes.invoke(SNAP, "r3")
    with pytest.raises(NodeUnknown):
        await nodes.invoke(replace(SNAP, name="other"), "r3")
    clients.remove(client)
    with pytest.raises(NodeOffline) as away:
        await nodes.invoke(replace(SNAP, name="third", node_id="nobody"), "r3")
    assert away.value.retryable


async def test_so_much_is_asked_of_one_node_at_a_time() -> None:
    clients = Clients(bytes)
    nodes, _ = Nodes(clients, FakeClock()), there(clients)
    async with anyio.create_task_group() as group:
        for number in range(MOST_OF_ONE):
            group.start_soon(partial(nodes.invoke, replace(SNAP, name=f"w{number}"), f"r{number}"))
        await until_all_wait()
        with pytest.raises(Conflict):
            await nodes.invoke(replace(SNAP, name="one more"), "r")
        group.cancel_scope.cancel()


async def test_of_what_is_over_the_oldest_is_forgotten() -> None:
    clients = Clients(bytes)
    nodes, client = Nodes(clients, FakeClock()), there(clients)
    async with anyio.create_task_group() as group:
        for number in range(REMEMBERED + 1):
            group.start_soon(nodes.invoke, replace(SNAP, name=f"w{number}"), f"r{number}")
            while not nodes.answered(client, f"r{number}", Done(payload=number)):
                await anyio.lowlevel.checkpoint()
    assert (await nodes.invoke(replace(SNAP, name="w1"), "again")).payload == 1
    async with asking(nodes, replace(SNAP, name="w0"), "again"):
        assert nodes.answered(client, "again", Done(payload="asked anew"))


async def test_what_was_not_answered_in_time_is_under_way_no_longer() -> None:
    clients, clock = Clients(bytes), FakeClock()
    nodes, client = Nodes(clients, clock), there(clients)
    for number in range(MOST_OF_ONE):
        with pytest.raises(NodeTimeout):
            async with asking(nodes, replace(SNAP, name=f"w{number}"), f"r{number}"):
                clock.advance(SNAP.limit_ms)
    async with asking(nodes, replace(SNAP, name="later"), "later"):
        assert nodes.answered(client, "later", Done(payload=1))


async def test_who_asks_again_after_the_time_waits_for_the_same_answer() -> None:
    clients, clock = Clients(bytes), FakeClock()
    nodes, client = Nodes(clients, clock), there(clients)
    with pytest.raises(NodeTimeout):
        async with asking(nodes, SNAP, "r1"):
            clock.advance(SNAP.limit_ms)
    # Somebody waits for it: it is not what is forgotten.
    async with asking(nodes, replace(SNAP, limit_ms=2 * KEPT_MS), "r2"):
        clock.advance(KEPT_MS)
        with pytest.raises(NodeTimeout):
            async with asking(nodes, replace(SNAP, name="other"), "r3"):
                clock.advance(SNAP.limit_ms)
        assert not nodes.answered(client, "r2", Done(payload=2))
        assert nodes.answered(client, "r1", Done(payload=1))


async def test_an_answer_is_forgotten_after_a_while_and_so_is_what_was_never_answered() -> None:
    clients, clock = Clients(bytes), FakeClock()
    nodes, client = Nodes(clients, clock), there(clients)
    async with asking(nodes, SNAP, "r1"):
        nodes.answered(client, "r1", Done(payload=1))
    silent = replace(SNAP, name="silent")
    with pytest.raises(NodeTimeout):
        async with asking(nodes, silent, "r2"):
            clock.advance(SNAP.limit_ms)
    clock.advance(KEPT_MS - SNAP.limit_ms - 1)
    assert (await nodes.invoke(SNAP, "r3")).payload == 1
    clock.advance(SNAP.limit_ms + 1)
    async with asking(nodes, SNAP, "r4"), asking(nodes, silent, "r5"):
        assert not nodes.answered(client, "r2", Done(payload="late"))
        assert nodes.answered(client, "r4", Done(payload=4))
        assert nodes.answered(client, "r5", Done(payload=5))


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (Done(payload={"a": ["é"]}), Done(payload="é" * KEPT_BYTES)),
        (Done(payload=[1], text="[ 1 ]"), Done(payload=[1], text="[1" + " " * KEPT_BYTES + "]")),
    ],
    ids=["a value", "text"],
)
async def test_a_small_answer_is_told_again_and_of_a_large_one_only_that_it_came(
    small: Done, large: Done
) -> None:
    clients = Clients(bytes)
    nodes, client = Nodes(clients, FakeClock()), there(clients)
    told: list[Done] = []

    async def ask(wish: Wish) -> None:
        told.append(await nodes.invoke(wish, wish.name))

    for name, answer in (("small", small), ("large", large)):
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(ask, replace(SNAP, name=name))
            await until_all_wait()
            assert nodes.answered(client, name, answer)
    assert told == [small, small, large, large]
    assert await nodes.invoke(replace(SNAP, name="small"), "again") == small
    with pytest.raises(NodeAnswered) as again:
        await nodes.invoke(replace(SNAP, name="large"), "again")
    assert not again.value.retryable
