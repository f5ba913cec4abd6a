"""A client in the same process sees what one at the port would."""

from pathlib import Path

import anyio
import pytest

from roost.testing.wires import Refused, visiting
from tests.flows.served import gates


async def test_a_local_client_speaks_the_protocol(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with gates("memory", tmp_path) as gate:
            async with visiting(gate.door) as client:
                assert (await client.event("connect.challenge"))["nonce"]
                await client.connect()
                assert client.hello["type"] == "hello-ok"
                assert (await client.call("health"))["ok"] is True
                with pytest.raises(Refused, match="unknown method"):
                    await client.call("nothing", {})
            assert client.wire.closed is None
