"""One connection: its handshake in time, its requests, and its end."""

from pathlib import Path

import anyio
import pytest

from roost.server.auth import Peer
from roost.server.clients import Outgoing
from roost.server.house import Phase
from roost.server.socket import HANDSHAKE_MS
from roost.testing.clock import FakeClock
from roost.testing.wires import LocalWire, Refused, visiting
from tests.flows.served import gates


async def test_who_says_nothing_is_sent_away_in_time(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with gates("memory", tmp_path) as gate:
            clock = FakeClock()
            gate.house.clock = clock
            async with visiting(gate.door) as silent, gate.client() as welcome:
                await anyio.wait_all_tasks_blocked()
                clock.advance(HANDSHAKE_MS)
                await silent.wire.ended.wait()
                assert silent.wire.closed == (1008, "handshake timeout")
                assert (await welcome.call("health"))["ok"] is True


async def test_before_the_gateway_serves_clients_are_told_to_come_again(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with gates("memory", tmp_path) as gate:
            gate.house.phase = Phase.STARTING
            async with visiting(gate.door) as early:
                with pytest.raises(Refused, match="500"):
                    await early.connect()
                await early.wire.ended.wait()
                assert early.wire.closed == (1013, "gateway starting; retry shortly")


class Stuck(LocalWire):
    """A client that reads nothing."""

    async def send(self, frame: bytes) -> None:
        await anyio.sleep_forever()


async def test_who_does_not_read_is_not_waited_for(tmp_path: Path) -> None:
    with anyio.fail_after(10):
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
                await anyio.wait_all_tasks_blocked()
            (client,) = gate.house.clients
            assert isinstance(client.outgoing, Outgoing)
            client.outgoing.put(b"x" * (60 << 20))
            await wire.ended.wait()
            assert wire.closed == (1008, "slow consumer")
        wire.from_gateway.close()
        wire.hang_up()
        wire.leave()
