"""Which gateway a node is connected to, written down for the others of a store."""

from functools import partial

from roost.core.devices import Device, Devices, meet
from roost.core.leases import Gateway
from roost.server.house import House


async def note(house: House) -> None:
    """What is connected here now. One who is alone has nobody to tell."""
    name = house.engine.name
    if house.store.exclusive or name is None:
        return
    here = {one.device: one.since for one in house.clients if one.is_node and one.device is not None}
    known = await house.store.devices()
    if meet(known, name, here) != known:
        await house.store.change_devices(partial(_met, name=name, here=here))


def _met(known: Devices, *, name: str, here: dict[str, int]) -> tuple[Devices, None]:
    return meet(known, name, here), None


async def elsewhere(house: House, device: Device) -> Gateway | None:
    """The other gateway that a node is connected to, while that one lives."""
    if device.met is None or device.met.gateway == house.engine.name:
        return None
    fleet = await house.store.fleet()
    return next((one.gateway for one in fleet.live if one.gateway.name == device.met.gateway), None)
