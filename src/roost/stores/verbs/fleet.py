"""The gateways of a store, and which of them serves a channel."""

from collections.abc import Collection
from dataclasses import replace

from roost.core.addresses import Account
from roost.core.fleet import SAY_AGAIN_MS, Fleet, Hosting
from roost.core.leases import Lease
from roost.stores.tables import Tables
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs, hold


class FleetVerbs(Verbs):
    async def fleet(self) -> Fleet:
        async def verb(tables: Tables) -> Fleet:
            return Fleet(
                now=await tables.database_now(),
                leases=await tables.leases(),
                hostings=await tables.hostings(),
            )

        return await self._read(verb)

    async def host_channels(self, lease: Lease, accounts: Collection[Account]) -> frozenset[Account]:
        async def verb(unit: Unit) -> frozenset[Account]:
            now = await hold(unit, lease)
            known = {one.account: one for one in await unit.tables.lock_hostings()}
            return frozenset(
                [one for one in sorted(accounts) if await _hosts(unit, lease, one, known.get(one), now)]
            )

        return await self._write(verb)

    async def leave_channels(self, lease: Lease) -> None:
        async def verb(unit: Unit) -> None:
            now = await hold(unit, lease)
            for one in await unit.tables.lock_hostings():
                if one.held_under(lease):
                    await unit.tables.put_hosting(replace(one, epoch=0, at=now))

        await self._write(verb)


async def _hosts(unit: Unit, lease: Lease, account: Account, known: Hosting | None, now: int) -> bool:
    """Whether a channel is this gateway's, taken if it is nobody's."""
    ours = known is not None and known.held_under(lease)
    if known is not None and not ours and await _is_there(unit, known, now):
        return False
    if known is None or not ours or now - known.at >= SAY_AGAIN_MS:
        await unit.tables.put_hosting(
            Hosting(account=account, gateway=lease.gateway.name, epoch=lease.epoch, at=now)
        )
    if not ours:
        unit.waking.delivery_due()
    return True


async def _is_there(unit: Unit, hosting: Hosting, now: int) -> bool:
    # Kept as it is: one that is being renewed just now is waited for.
    lease = await unit.tables.keep_lease(hosting.gateway)
    return lease is not None and hosting.held_under(lease) and lease.live(now)
