"""Which gateways may write."""

from dataclasses import replace

from roost.core.errors import LeaseHeld
from roost.core.leases import LEASE_MS, Gateway, Lease
from roost.stores.tables import Tables
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs, held


class LeaseVerbs(Verbs):
    async def acquire_lease(self, gateway: Gateway) -> Lease:
        async def verb(unit: Unit) -> Lease:
            now = await unit.tables.database_now()
            leases = await unit.tables.lock_leases()
            if self.exclusive:
                _refuse_second_owner(gateway, leases, now)
            epoch = 1 + max((lease.epoch for lease in leases), default=0)
            lease = Lease(gateway=gateway, epoch=epoch, expires_at=now + LEASE_MS)
            await unit.tables.put_lease(lease)
            for known in leases:
                if known.forgotten(now) and known.gateway.name != gateway.name:
                    # Its epoch is below the new one's, which is kept: none is given twice.
                    await unit.tables.delete_lease(known.gateway.name)
            return lease

        return await self._write_unleased(verb)

    async def renew_lease(self, lease: Lease) -> Lease:
        async def verb(unit: Unit) -> Lease:
            # Who found that it had run out is not proven wrong afterwards.
            now = await held(unit, lease, await unit.tables.lock_lease(lease.gateway.name))
            renewed = replace(lease, expires_at=now + LEASE_MS)
            await unit.tables.put_lease(renewed)
            return renewed

        return await self._write_first(verb)

    async def release_lease(self, lease: Lease) -> None:
        async def verb(unit: Unit) -> None:
            for known in await unit.tables.lock_leases():
                if (known.gateway.name, known.epoch) == (lease.gateway.name, lease.epoch):
                    await unit.tables.put_lease(replace(known, expires_at=0))

        await self._write_unleased(verb)

    async def gateways(self) -> tuple[Lease, ...]:
        async def verb(tables: Tables) -> tuple[Lease, ...]:
            return await tables.leases()

        return await self._read(verb)


def _refuse_second_owner(gateway: Gateway, leases: tuple[Lease, ...], now: int) -> None:
    for lease in leases:
        if lease.gateway.name != gateway.name and lease.live(now):
            owner = lease.gateway
            raise LeaseHeld(
                f"the store belongs to gateway {owner.name} ({owner.holder})"
                + (f" at {owner.address}" if owner.address else ""),
                hint=f"go through that gateway, or stop it; of one that was killed the hold ends within {LEASE_MS // 1000} s"
                if owner.address
                else "it is a command or a program: end it, or have `roost gateway run` serve them all",
            )
