"""Who listens to a session is told what is stored in it: everything, once, in its order."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from roost.clock import SystemClock
from roost.core.keys import SessionKey
from roost.core.sessions import Session
from roost.server.fanout import Fanout
from roost.server.listeners import MOST_LISTENS
from roost.stores.memory import MemoryStore
from roost.testing.builders import answered
from roost.testing.scripts import Say
from roost.testing.wires import Refused
from tests.flows.gateways import Bench
from tests.flows.served import Opened, gate_of, gates, send
from tests.waiting import until_all_wait

MAIN = "agent:main:main"


@pytest.mark.requirement("S23")
async def test_a_connection_listens_to_so_many_sessions_and_makes_room_by_leaving_one(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client(scopes=["operator.read"]) as client:
        (connected,) = gate.house.clients
        fanout = Fanout(gate.house)
        for number in range(MOST_LISTENS):
            fanout.listen(connected, None, SessionKey.named("main", f"n{number}"))
        with pytest.raises(Refused, match=r"2000 sessions already \(unsubscribe from some"):
            await client.call("sessions.messages.subscribe", {"key": "agent:main:more"})
        assert len(connected.listens) == MOST_LISTENS
        assert (await client.call("sessions.messages.subscribe", {"key": "agent:main:n0"}))["subscribed"]
        await client.call("sessions.messages.unsubscribe", {"key": "agent:main:n0"})
        assert (await client.call("sessions.messages.subscribe", {"key": "agent:main:more"}))["subscribed"]


async def test_messages_that_were_stored_while_nobody_listened_are_told(opened: Opened) -> None:
    async with opened() as (gate, client), anyio.create_task_group() as group:
        gate.bench.model.add((Say("words"),))
        await client.call("chat.send", send("hello", "run-1"))
        await client.event("chat", state="final")
        (connected,) = gate.house.clients
        late = Fanout(gate.house)
        late.listen(connected, None, SessionKey.parse(MAIN))
        client.events.clear()
        group.start_soon(late.serve)
        told = await client.event("session.message")
        assert told["messageSeq"] == 1
        group.cancel_scope.cancel()


async def test_who_is_told_again_after_a_long_while_hears_all_that_was_stored_in_order(
    opened: Opened,
) -> None:
    async with opened() as (gate, client), anyio.create_task_group() as group:
        key = SessionKey.parse(MAIN)
        await client.call("sessions.create", {"key": "main"})
        (connected,) = gate.house.clients
        late = Fanout(gate.house)
        late.listen(connected, await gate.bench.store.session(key), key)
        for first in range(0, 350, 50):
            await gate.bench.store.append(
                key, tuple(answered(f"e{number}", "words") for number in range(first, first + 50))
            )
        group.start_soon(late.serve)
        await client.event("session.message", messageId="e349")
        told = [message["messageId"] for message in client.told("session.message")]
        assert told == [f"e{number}" for number in range(350)]
        group.cancel_scope.cancel()


class Overtaken(MemoryStore):
    """A store in which something is written after a session was read, and heard of before the reader has it."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def session(self, key: SessionKey) -> Session | None:
        found, meanwhile = await super().session(key), self.meanwhile
        if meanwhile is not None:
            self.meanwhile = None
            await meanwhile()
            await until_all_wait()
        return found


async def test_a_message_that_came_while_somebody_began_to_listen_is_told(tmp_path: Path) -> None:
    clock = SystemClock()
    store = Overtaken(clock)
    with anyio.fail_after(60):
        async with gate_of(Bench(store, clock), tmp_path) as gate, gate.client() as client:
            key = SessionKey.parse(MAIN)
            await client.call("sessions.create", {"key": "main"})
            store.meanwhile = lambda: store.append(key, (answered("e1", "just now"),))
            await client.call("sessions.messages.subscribe", {"key": "main"})
            told = await client.event("session.message")
            assert told["message"]["content"][0]["text"] == "just now"


async def test_whoever_begins_to_listen_meanwhile_each_message_is_told_once_in_its_order(
    tmp_path: Path,
) -> None:
    key, names = SessionKey.parse(MAIN), [f"e{number}" for number in range(200)]
    async with gates("sqlite", tmp_path) as gate, gate.client() as first, gate.client() as other:
        await first.call("sessions.create", {"key": "main"})
        await first.call("sessions.messages.subscribe", {"key": "main"})

        async def listen_anew() -> None:
            while True:
                await other.call("sessions.messages.subscribe", {"key": "main"})

        async with anyio.create_task_group() as group:
            group.start_soon(listen_anew)
            for name in names:
                await gate.bench.store.append(key, (answered(name, "x"),))
            await first.event("session.message", messageId=names[-1])
            group.cancel_scope.cancel()
        assert [told["messageId"] for told in first.told("session.message")] == names


async def test_a_session_that_is_not_there_yet_or_comes_back_is_listened_to(opened: Opened) -> None:
    async with opened() as (_, client):
        await client.call("sessions.messages.subscribe", {"key": "agent:main:side"})
        await until_all_wait()
        for text in ("one", "two"):
            await client.call("sessions.create", {"key": "side"})
            await client.call("chat.inject", {"sessionKey": "side", "message": text})
            told = await client.event("session.message")
            assert told["message"]["content"][0]["text"] == text
            await client.call("sessions.delete", {"key": "side"})
            client.events.clear()
