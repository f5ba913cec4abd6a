"""A node at a gateway that runs, as its owner sees and asks it."""

import json
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from roost.app.serving import Served
from roost.cli.main import main
from tests.e2e.edges import Device, Knocking, knocking

DECLARED = {"role": "node", "caps": ["camera"], "commands": ["camera.snap"], "permissions": {"camera": True}}


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(arguments) == code, capsys.readouterr()
    said = capsys.readouterr()
    return said.out or said.err


async def asked(caller: Knocking, device: Device, **auth: str) -> dict[str, Any]:
    secret = next(iter(auth.values()), "")
    block = device.block(caller.challenge, scopes=[], secret=secret, role="node")
    return await caller.ask(scopes=[], auth=auth, device=block, **DECLARED)


@contextmanager
def node(gateway: Served, device: Device, token: str, times: int) -> Iterator[None]:
    """It is connected, answers so often with what it was told, and leaves."""

    async def serve(ready: Future[None]) -> None:
        with anyio.fail_after(120):
            async with knocking(gateway) as caller:
                hello = await asked(caller, device, deviceToken=token)
                assert hello["ok"], hello
                ready.set_result(None)
                for _ in range(times):
                    request = await caller.event("node.invoke.request")
                    caller.events.clear()
                    answer = {
                        "id": request["id"],
                        "nodeId": device.id,
                        "ok": True,
                        "payload": {"told": json.loads(request["paramsJSON"])},
                    }
                    await caller.call("node.invoke.result", answer)

    ready: Future[None] = Future()
    with start_blocking_portal() as portal:
        serving = portal.start_task_soon(serve, ready)
        ready.result(timeout=60)
        yield
        serving.result(timeout=60)


def test_a_node_is_listed_shown_and_asked(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    device = Device()
    assert "`roost devices`" in told(capsys, "nodes")

    async def knock() -> dict[str, Any]:
        async with knocking(served) as caller:
            return await asked(caller, device)

    request = anyio.run(knock)["error"]["details"]["requestId"]
    told(capsys, "devices", "approve", request)
    assert f"{device.id}  -     linux     away" in told(capsys, "nodes", "list")
    assert "not connected" in told(capsys, "nodes", "invoke", device.id, "camera.snap", code=1)
    token = anyio.run(knock)["payload"]["auth"]["deviceToken"]
    with node(served, device, token, times=2):
        (row,) = json.loads(told(capsys, "nodes", "--json"))["nodes"]
        assert (row["nodeId"], row["connected"]) == (device.id, True)
        assert "connected  camera.snap" in told(capsys, "nodes")
        assert "commands     camera.snap" in told(capsys, "nodes", "show", device.id)
        assert json.loads(told(capsys, "nodes", "show", device.id, "--json"))["caps"] == ["camera"]
        wish = ("nodes", "invoke", device.id, "camera.snap", '{"facing": "front"}')
        assert json.loads(told(capsys, *wish)) == {"told": {"facing": "front"}}
        assert json.loads(told(capsys, *wish, "--timeout", "60s", "--json"))["nodeId"] == device.id
    assert "no JSON" in told(capsys, "nodes", "invoke", device.id, "camera.snap", "nonsense", code=1)
    assert "no span" in told(capsys, *wish, "--timeout", "soon", code=1)
    assert "there is no node nobody" in told(capsys, "nodes", "show", "nobody", code=1)
