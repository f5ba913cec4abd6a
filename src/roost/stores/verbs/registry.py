"""Who was let in, devices and people, and who asks to be."""

from collections.abc import Mapping

from roost.core import devices as core_devices
from roost.core import guests as core_guests
from roost.core.devices import Decide as DecideDevices
from roost.core.devices import Devices, Found
from roost.core.guests import Decide as DecideGuests
from roost.core.guests import Guests
from roost.stores.tables import Registered, Tables
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs


class RegistryVerbs(Verbs):
    async def devices(self) -> Devices:
        async def verb(tables: Tables) -> Devices:
            return core_devices.gathered(await tables.registered())

        return await self._read(verb)

    async def change_devices(self, decide: DecideDevices[Found]) -> Found:
        async def verb(unit: Unit) -> Found:
            known = core_devices.gathered(await _held(unit))
            wanted, found = decide(known)
            await _rewrite(unit, core_devices.rows_of(known), core_devices.rows_of(wanted))
            return found

        return await self._write(verb)

    async def guests(self) -> Guests:
        async def verb(tables: Tables) -> Guests:
            return core_guests.gathered(await tables.registered())

        return await self._read(verb)

    async def change_guests(self, decide: DecideGuests[Found]) -> Found:
        async def verb(unit: Unit) -> Found:
            known = core_guests.gathered(await _held(unit))
            wanted, found = decide(known)
            await _rewrite(unit, core_guests.rows_of(known), core_guests.rows_of(wanted))
            unit.waking.guests_changed()
            return found

        return await self._write(verb)


async def _held(unit: Unit) -> tuple[Registered, ...]:
    """What is decided on all of them is decided by one gateway at a time."""
    await unit.tables.lock_leases()
    return await unit.tables.registered()


async def _rewrite(unit: Unit, before: Mapping[str, Registered], after: Mapping[str, Registered]) -> None:
    for name in before.keys() - after.keys():
        await unit.tables.delete_registered(name)
    for name, one in after.items():
        if before.get(name) != one:
            await unit.tables.put_registered(name, one)
