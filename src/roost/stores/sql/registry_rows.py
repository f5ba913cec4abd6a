"""Who was let in, or asks to be, in SQL."""

from roost.stores.codec import decode, encode
from roost.stores.sql.rows import Rows
from roost.stores.tables import Registered


class RegistryRows(Rows):
    async def registered(self) -> tuple[Registered, ...]:
        return tuple([decode(Registered, row[0]) for row in await self._all("registered")])

    async def put_registered(self, name: str, one: Registered) -> None:
        await self._do("put_registered", (name, encode(one, Registered), self._tenant))

    async def delete_registered(self, name: str) -> None:
        await self._do("delete_registered", (name,))
