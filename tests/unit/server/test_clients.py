"""Those who are connected, and what each is sent."""

from dataclasses import replace
from typing import Any

import anyio
import orjson
import pytest

from roost.core.principals import OWNER, person
from roost.protocol.connection import Connection
from roost.protocol.events import Audience, WireEvent
from roost.protocol.handshake import Client
from roost.protocol.scopes import Scope
from roost.server.auth import Admitted
from roost.server.clients import Clients, Connected, Outgoing
from roost.testing.builders import MAIN


def connected(name: str, *scopes: Scope, caps: frozenset[str] = frozenset()) -> Connected:
    return Connected(
        id=name,
        connection=Connection("n", 1),
        client=Client(id="cli", version="1", platform="linux", mode="cli"),
        admitted=Admitted(principal=OWNER, method="token", scopes=scopes),
        caps=caps,
        since=1,
        outgoing=Outgoing(),
    )


def event(audience: Audience) -> WireEvent:
    return WireEvent(name="chat", payload={"a": 1}, audience=audience, key=MAIN, run="run-1")


async def sent(client: Connected) -> dict[str, Any]:
    frame = await client.outgoing.next()
    assert frame is not None
    found: dict[str, Any] = orjson.loads(frame)
    return found


@pytest.mark.parametrize("audience", list(Audience))
def test_who_may_not_read_hears_only_what_is_for_everyone(audience: Audience) -> None:
    client = connected("c", Scope.PAIRING, caps=frozenset({"tool-events"}))
    client.watches = True
    client.listens.add(MAIN)
    client.began.add((MAIN, "run-1"))
    assert client.hears(event(audience)) is (audience in {Audience.EVERYONE, Audience.PAIRERS})


def test_what_was_asked_for_is_heard() -> None:
    client = connected("c", Scope.READ)
    assert [one for one in Audience if client.hears(event(one))] == [Audience.EVERYONE, Audience.READERS]
    client.watches = True
    client.listens.add(MAIN)
    client.began.add((MAIN, "run-1"))
    assert not client.hears(event(Audience.STARTER))
    assert client.hears(event(Audience.WATCHERS))
    assert client.hears(event(Audience.LISTENERS))
    shows_tools = connected("d", Scope.READ, caps=frozenset({"tool-events", "session-scoped-events"}))
    shows_tools.began.add((MAIN, "run-1"))
    assert shows_tools.hears(event(Audience.STARTER))
    assert not shows_tools.hears(event(Audience.READERS))


async def test_each_client_counts_its_own_events() -> None:
    clients, first, second = Clients(), connected("a", Scope.READ), connected("b", Scope.READ)
    clients.add(first)
    clients.tell(event(Audience.READERS))
    clients.add(second)
    clients.tell(event(Audience.READERS))
    assert [(await sent(first))["seq"], (await sent(first))["seq"], (await sent(second))["seq"]] == [1, 2, 1]
    clients.tell(event(Audience.READERS), among=[second])
    assert (await sent(second))["seq"] == 2
    clients.close(1012, "later")
    assert await first.outgoing.next() is None
    assert first.outgoing.closing == (1012, "later")


async def test_that_all_have_gone_can_be_waited_for() -> None:
    clients, one = Clients(), connected("a")
    clients.add(one)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(clients.all_gone)
            await anyio.wait_all_tasks_blocked()
            clients.remove(one)
            clients.remove(one)
    assert (len(clients), clients.listeners(MAIN)) == (0, False)


async def test_who_reads_too_slowly_is_given_up() -> None:
    outgoing = Outgoing(most=10)
    outgoing.put(b"12345")
    outgoing.put(b"123456")
    assert outgoing.overrun.is_set()
    assert outgoing.closing == (1008, "slow consumer")
    outgoing.put(b"more")
    assert await outgoing.next() is None


async def test_frames_are_waited_for_in_order() -> None:
    outgoing, found = Outgoing(), list[bytes | None]()

    async def read() -> None:
        found.extend([await outgoing.next(), await outgoing.next()])

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            outgoing.put(b"1")
            await anyio.wait_all_tasks_blocked()
            outgoing.close(1000, "")
    assert found == [b"1", None]


def test_the_connections_of_one_person_are_found_together() -> None:
    clients, first, second = Clients(), connected("a", Scope.READ), connected("b", Scope.READ)
    alice = replace(
        connected("c"), admitted=Admitted(principal=person("telegram", "7"), method="t", scopes=())
    )
    for one in (first, alice, second):
        clients.add(one)
    assert clients.by_caller() == {first.caller: [first, second], alice.caller: [alice]}
