"""What clients are told so that they know the gateway lives."""

from pathlib import Path

import anyio

from roost.server.house import Phase
from roost.server.ticking import announce, say_goodbye, tick
from roost.testing.clock import FakeClock
from tests.flows.served import gates
from tests.waiting import until_all_wait


async def test_it_ticks_for_everyone_and_tells_readers_how_it_does(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate:
            clock = FakeClock()
            gate.house.clock = clock
            async with (
                gate.client(scopes=[]) as nobody,
                gate.client() as reader,
                anyio.create_task_group() as group,
            ):
                group.start_soon(tick, gate.house)
                for _ in range(2):
                    await until_all_wait()
                    clock.advance(30_000)
                await reader.event("health", ok=True)
                assert len(reader.told("tick")) == 2
                assert [event["event"] for event in nobody.events[1:]] == ["tick", "tick"]
                group.cancel_scope.cancel()


async def test_readers_are_told_of_devices_that_come_and_go_and_of_nobody_who_is_not_theirs(
    tmp_path: Path,
) -> None:
    device = {"id": "d-1", "publicKey": "k", "signature": "s", "signedAt": 1, "nonce": "n"}
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate:
            clock = FakeClock()
            gate.house.clock = clock
            async with (
                gate.client(scopes=[]) as nobody,
                gate.client(auth={"token": "alice-token"}) as alice,
                gate.client() as reader,
                anyio.create_task_group() as group,
            ):
                group.start_soon(announce, gate.house)
                async with gate.client(device=device):
                    told = await reader.event("presence")
                    assert [one.get("deviceId") for one in told["presence"]] == [
                        None,
                        None,
                        None,
                        None,
                        "d-1",
                    ]
                    reader.events.clear()
                    hers = await alice.event("presence")
                    assert len(hers["presence"]) == 2
                await until_all_wait()
                clock.advance(1_000)
                told = await reader.event("presence")
                assert "d-1" not in [one.get("deviceId") for one in told["presence"]]
                assert nobody.told("presence") == []
                group.cancel_scope.cancel()


async def test_goodbye_is_told_and_nothing_more_is_done(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate, gate.client() as client:
            say_goodbye(gate.house)
            assert gate.house.phase is Phase.STOPPING
            await client.event("shutdown", reason="gateway stopping")
            await client.wire.ended.wait()
            assert client.wire.closed == (1012, "service restart")
