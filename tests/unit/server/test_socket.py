"""One connection: its handshake in time, its requests, and its end."""

from pathlib import Path

import anyio
import pytest

from roost.core.principals import OWNER
from roost.protocol.handshake import NO_CREDENTIAL, Connect, Refusal
from roost.server.auth import Admitted, Issued, Peer
from roost.server.clients import Outgoing
from roost.server.house import Phase
from roost.server.socket import AT_ONCE, HANDSHAKE_MS
from roost.server.ticking import say_goodbye
from roost.server.waiting import WaitingRoom
from roost.testing.clock import FakeClock
from roost.testing.scripts import Hang
from roost.testing.wires import LocalWire, Refused, visiting
from tests.flows.served import gates, send
from tests.unit.protocol.test_handshake import CONNECT
from tests.waiting import until_all_wait


async def test_who_says_nothing_is_sent_away_in_time(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate:
            clock = FakeClock()
            gate.house.clock = clock
            async with visiting(gate.door) as silent, gate.client() as welcome:
                await until_all_wait()
                clock.advance(HANDSHAKE_MS)
                await silent.wire.ended.wait()
                assert silent.wire.closed == (1008, "handshake timeout")
                assert (await welcome.call("health"))["ok"] is True


async def test_before_the_gateway_serves_clients_are_told_to_come_again(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate:
            gate.house.phase = Phase.STARTING
            async with visiting(gate.door) as early:
                with pytest.raises(Refused, match="500"):
                    await early.connect()
                await early.wire.ended.wait()
                assert early.wire.closed == (1013, "gateway starting; retry shortly")


async def test_who_is_looked_at_when_the_gateway_leaves_is_told_to_come_again(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate:
            inner, looked_at = gate.door._authenticator, anyio.Event()

            class Slow:
                async def admit(self, connect: Connect, peer: Peer) -> Admitted | Refusal:
                    await looked_at.wait()
                    return await inner.admit(connect, peer)

            gate.door._authenticator = Slow()
            async with visiting(gate.door) as late:
                late.wire.ask("connect", {**CONNECT, "auth": {"token": "secret-token"}})
                await until_all_wait()
                say_goodbye(gate.house)
                looked_at.set()
                await late.wire.ended.wait()
                assert late.wire.closed == (1013, "gateway starting; retry shortly")
                assert len(gate.house.clients) == 0


@pytest.mark.requirement("S12")
async def test_who_was_given_a_token_as_the_gateway_leaves_is_told_it_and_sent_away_then(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate:

            class Giving:
                async def admit(self, connect: Connect, peer: Peer) -> Admitted | Refusal:
                    # It is kept from now on, and given once.
                    say_goodbye(gate.house)
                    issued = Issued(token="for you", at=1)
                    return Admitted(principal=OWNER, method="device-token", scopes=(), issued=issued)

            gate.door._authenticator = Giving()
            async with visiting(gate.door) as late:
                await late.connect()
                assert late.hello["auth"]["deviceToken"] == "for you"
                await late.wire.ended.wait()
                assert late.wire.closed == (1012, "service restart")


class Stuck(LocalWire):
    """A client that reads nothing."""

    async def send(self, frame: bytes) -> None:
        await anyio.sleep_forever()


async def test_who_does_not_read_is_not_waited_for(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate, anyio.create_task_group() as group:
            wire = Stuck()
            group.start_soon(gate.door.attend, wire, Peer())
            connect = {
                "minProtocol": 4,
                "maxProtocol": 4,
                "client": {"id": "cli", "version": "1", "platform": "linux", "mode": "cli"},
                "auth": {"token": "secret-token"},
            }
            wire.ask("connect", connect)
            while not len(gate.house.clients):
                await until_all_wait()
            (client,) = gate.house.clients
            assert isinstance(client.outgoing, Outgoing)
            client.outgoing.put(b"x" * (60 << 20))
            await wire.ended.wait()
            assert wire.closed == (1008, "slow consumer")
        wire.from_gateway.close()
        wire.hang_up()
        wire.leave()


@pytest.mark.requirement("S23")
async def test_who_waits_in_silence_makes_room_and_who_asks_does_not(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate:
            gate.door._room = WaitingRoom(most=1, most_of_one=1)
            async with visiting(gate.door) as silent, visiting(gate.door):
                await silent.wire.ended.wait()
                assert silent.wire.closed == (1008, "too many connections wait")
            never = anyio.Event()

            class Slow:
                async def admit(self, connect: Connect, peer: Peer) -> Admitted | Refusal:
                    await never.wait()
                    return NO_CREDENTIAL

            gate.door._authenticator = Slow()
            async with visiting(gate.door) as asking:
                asking.wire.ask("connect", CONNECT)
                await until_all_wait()
                async with visiting(gate.door) as late:
                    await late.wire.ended.wait()
                    assert late.wire.closed == (1013, "too many connections; retry shortly")
                never.set()
                await asking.wire.ended.wait()


async def test_who_has_too_much_unanswered_is_told_so_and_still_heard(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate, gate.client() as other:
            gate.bench.model.add((Hang(),))
            async with gate.client() as client:
                await client.call("chat.send", send("hi", "run-1"))
                await gate.bench.model.asked(1)
                waits = [client.send("agent.wait", {"runId": "run-1", "timeoutMs": 3_600_000})]
                waits += [client.send("agent.wait", {"runId": "run-1"}) for _ in range(AT_ONCE - 1)]
                with pytest.raises(Refused, match="too many requests") as refused:
                    await client.call("health")
                assert refused.value.error["code"] == "UNAVAILABLE"
                assert refused.value.error["retryable"] is True
                await other.call("chat.abort", {"sessionKey": "main"})
                for wait in waits:
                    assert (await client.answer(wait))["ok"] is True
                assert (await client.call("health"))["ok"] is True


async def test_who_hangs_up_with_too_much_unanswered_is_seen_to_leave(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate:
            gate.bench.model.add((Hang(),))
            async with gate.client() as client:
                await client.call("chat.send", send("hi", "run-1"))
                await gate.bench.model.asked(1)
                for _ in range(AT_ONCE + 1):
                    client.send("agent.wait", {"runId": "run-1", "timeoutMs": 3_600_000})
            await gate.house.clients.all_gone()
