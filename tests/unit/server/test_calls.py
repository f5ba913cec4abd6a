"""Every request is answered, whatever happens."""

from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from roost.protocol.frames import Request
from roost.protocol.method import Method
from roost.protocol.params import NoParams
from roost.server.calls import Bound, Call, serve
from roost.server.house import Phase
from tests.flows.served import gates
from tests.unit.server.test_clients import connected

METHOD = Method(name="break", params=NoParams, result=dict, needs=None)


async def breaks(call: Call, params: NoParams) -> dict[str, Any]:
    raise ValueError("a defect")


@pytest.mark.parametrize(
    ("phase", "told"), [(Phase.SERVING, "something broke"), (Phase.STOPPING, "gateway stopping")]
)
async def test_a_request_that_breaks_or_comes_too_late_is_answered(
    tmp_path: Path, phase: Phase, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate:
            gate.house.phase = phase
            client = connected("c")
            call = Call(house=gate.house, client=client, id="1")
            table = {"break": Bound(method=METHOD, handle=breaks)}
            await serve(table, call, Request(id="1", method="break", params={}))
            frame = await client.outgoing.next()
            assert frame is not None
            assert told in orjson.loads(frame)["error"]["message"]
