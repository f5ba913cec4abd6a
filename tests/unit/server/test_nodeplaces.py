"""Where nodes are, for the other gateways of a store. What two of them tell each other is in the flows."""

from dataclasses import replace
from pathlib import Path

from roost.core.devices import Device, DeviceIdentity, Met
from roost.core.grants import Role
from roost.core.principals import node
from roost.server.nodeplaces import elsewhere, note
from tests.flows.served import gates

DEVICE = Device(
    identity=DeviceIdentity(id="n", public_key="k", client_id="c", client_mode="node", platform="linux"),
    principal=node("n"),
    role=Role.NODE,
    scopes=(),
    approved_at=1,
)


async def test_who_has_a_store_alone_writes_nothing_and_finds_nobody_elsewhere(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate:
        stale = replace(DEVICE, met=Met(gateway="gone", at=1))
        await gate.house.store.change_devices(lambda known: (known.put(stale), None))
        await note(gate.house)
        assert (await gate.house.store.devices()).paired == (stale,)
        assert await elsewhere(gate.house, stale) is None
        assert await elsewhere(gate.house, DEVICE) is None
