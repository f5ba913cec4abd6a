"""Devices that are paired, and those that ask to be."""

from roost.core.devices import Decide, Devices, Found, gathered, rows_of
from roost.stores.tables import Tables
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs


class DeviceVerbs(Verbs):
    async def devices(self) -> Devices:
        async def verb(tables: Tables) -> Devices:
            return gathered(await tables.registered())

        return await self._read(verb)

    async def change_devices(self, decide: Decide[Found]) -> Found:
        async def verb(unit: Unit) -> Found:
            # What is decided on all of them is decided by one gateway at a time.
            await unit.tables.lock_leases()
            known = gathered(await unit.tables.registered())
            wanted, found = decide(known)
            before, after = rows_of(known), rows_of(wanted)
            for name in before.keys() - after.keys():
                await unit.tables.delete_registered(name)
            for name, one in after.items():
                if before.get(name) != one:
                    await unit.tables.put_registered(name, one)
            return found

        return await self._write(verb)
