"""Devices in SQL."""

from roost.core.devices import Registered
from roost.stores.codec import decode, encode
from roost.stores.sql.rows import Rows


class DeviceRows(Rows):
    async def registered(self) -> tuple[Registered, ...]:
        return tuple([decode(Registered, row[0]) for row in await self._all("registered")])

    async def put_registered(self, name: str, one: Registered) -> None:
        await self._do("put_registered", (name, encode(one, Registered), self._tenant))

    async def delete_registered(self, name: str) -> None:
        await self._do("delete_registered", (name,))
