"""Those who are connected, and what each is sent."""

from collections.abc import Sequence
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
from tests.waiting import until_all_wait


def never(_: Sequence[bytes]) -> bool:
    return False


def connected(name: str, *scopes: Scope, caps: frozenset[str] = frozenset()) -> Connected:
    return Connected(
        id=name,
        connection=Connection("n", 1),
        client=Client(id="cli", version="1", platform="linux", mode="cli"),
        admitted=Admitted(principal=OWNER, method="token", scopes=scopes),
        caps=caps,
        since=1,
        outgoing=Outgoing(never, bytes),
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
    clients, first, second = Clients(bytes), connected("a", Scope.READ), connected("b", Scope.READ)
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
    clients, one = Clients(bytes), connected("a")
    clients.add(one)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(clients.all_gone)
            await until_all_wait()
            clients.remove(one)
            clients.remove(one)
    assert (len(clients), clients.listeners(MAIN)) == (0, False)


async def test_all_sessions_are_watched_as_long_as_somebody_who_is_in_does() -> None:
    clients, one, other = Clients(bytes), connected("a", Scope.READ), connected("b", Scope.READ)
    clients.add(one)
    clients.add(other)
    watched = [clients.watched]
    clients.watch(one)
    watched.append(clients.watched)
    assert [client.hears(event(Audience.WATCHERS)) for client in (one, other)] == [True, False]
    clients.remove(one)
    watched.append(clients.watched)
    # Who has left is told nothing.
    clients.watch(one)
    watched.append(clients.watched)
    assert watched == [False, True, False, False]


async def test_who_reads_too_slowly_is_given_up() -> None:
    outgoing = Outgoing(never, bytes, most=10)
    outgoing.put(b"12345")
    outgoing.put(b"123456")
    assert outgoing.overrun.is_set()
    assert outgoing.closing == (1008, "slow consumer")
    outgoing.put(b"more")
    assert await outgoing.next() is None


async def test_frames_are_waited_for_in_order() -> None:
    outgoing, found = Outgoing(never, bytes), list[bytes | None]()

    async def read() -> None:
        found.extend([await outgoing.next(), await outgoing.next()])

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await until_all_wait()
            outgoing.put(b"1")
            await until_all_wait()
            outgoing.close(1000, "")
    assert found == [b"1", None]


def test_the_connections_of_one_person_are_found_together() -> None:
    clients, first, second = Clients(bytes), connected("a", Scope.READ), connected("b", Scope.READ)
    alice = replace(
        connected("c"), admitted=Admitted(principal=person("telegram", "7"), method="t", scopes=())
    )
    for one in (first, alice, second):
        clients.add(one)
    assert clients.by_caller() == {first.caller: [first, second], alice.caller: [alice]}


class Narrow:
    """Takes frames while there is room, and counts how often it was given some."""

    def __init__(self) -> None:
        self.room, self.taken, self.times = True, list[bytes](), 0

    def take(self, frames: Sequence[bytes]) -> bool:
        if self.room:
            self.taken += frames
            self.times += 1
        return self.room


async def test_a_frame_that_can_go_at_once_waits_for_nobody_and_none_overtakes_another() -> None:
    wire = Narrow()
    outgoing = Outgoing(wire.take, bytes)
    outgoing.put(b"1")
    wire.room = False
    outgoing.put(b"2")
    wire.room = True
    outgoing.put(b"3")
    assert (await outgoing.next(), wire.taken) == (b"2", [b"1"])
    outgoing.put(b"4")
    assert [await outgoing.next(), await outgoing.next()] == [b"3", b"4"]
    outgoing.put(b"5")
    outgoing.close(1000, "")
    assert (await outgoing.next(), await outgoing.next(), wire.taken) == (b"5", None, [b"1"])


async def test_what_is_told_together_goes_out_together_and_each_hears_only_what_is_for_it() -> None:
    clients, wire, other = Clients(bytes), Narrow(), Narrow()
    reader = replace(connected("a", Scope.READ), outgoing=Outgoing(wire.take, bytes))
    watcher = replace(connected("b", Scope.READ), outgoing=Outgoing(other.take, bytes), watches=True)
    for client in (reader, watcher):
        clients.add(client)
    clients.tell(*map(event, (Audience.READERS, Audience.WATCHERS, Audience.READERS)))
    assert [orjson.loads(frame)["seq"] for frame in wire.taken] == [1, 2]
    assert [orjson.loads(frame)["seq"] for frame in other.taken] == [1, 2, 3]
    assert (wire.times, other.times) == (1, 1)
    clients.tell(event(Audience.PAIRERS))
    assert (wire.times, other.times) == (1, 1)


async def test_what_cannot_go_together_at_once_waits_in_its_order() -> None:
    wire = Narrow()
    wire.room = False
    outgoing = Outgoing(wire.take, bytes)
    outgoing.put_covered((b"1", b"2"))
    wire.room = True
    outgoing.put_covered((b"3",))
    assert [await outgoing.next() for _ in range(3)] == [b"1", b"2", b"3"]
    assert not wire.taken


async def test_more_than_may_wait_goes_one_by_one_to_who_reads_fast_and_cuts_off_who_does_not() -> None:
    fast, slow = Narrow(), Narrow()
    slow.room = False
    for wire in (fast, slow):
        outgoing = Outgoing(wire.take, bytes, most=5)
        outgoing.put_covered((b"123", b"456"))
        assert (outgoing.closing is None) is wire.room
    assert (fast.taken, slow.taken) == ([b"123", b"456"], [])


async def test_who_has_been_sent_everything_is_sent_the_next_at_once_again() -> None:
    wire = Narrow()
    wire.room = False
    outgoing = Outgoing(wire.take, bytes)
    outgoing.put(b"1")
    async with anyio.create_task_group() as group:

        async def write() -> None:
            while await outgoing.next() is not None:
                pass

        group.start_soon(write)
        await until_all_wait()
        wire.room = True
        outgoing.put(b"2")
        outgoing.close(1000, "")
    assert wire.taken == [b"2"]


async def test_a_frame_that_nobody_could_take_whole_ends_the_connection() -> None:
    wire = Narrow()
    outgoing = Outgoing(wire.take, bytes, most=10)
    outgoing.put(b"x" * 11)
    assert (outgoing.closing, wire.taken) == ((1008, "slow consumer"), [])


async def test_what_many_are_told_is_covered_once() -> None:
    seen = list[bytes]()

    def cover(text: bytes) -> bytes:
        seen.append(text)
        return text.replace(b'"a"', b'"*"')

    clients = Clients(cover)
    everybody = [connected(name, Scope.READ) for name in "abc"]
    for client in everybody:
        clients.add(client)
    clients.tell(event(Audience.READERS))
    assert len(seen) == 1
    assert [(await sent(client))["payload"] for client in everybody] == [{"*": 1}] * 3


def test_an_answer_is_covered() -> None:
    wire = Narrow()
    Outgoing(wire.take, lambda text: text.replace(b"secret", b"******")).put(b"my secret")
    assert wire.taken == [b"my ******"]
