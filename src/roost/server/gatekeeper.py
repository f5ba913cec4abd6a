"""Who comes in: first whether the page may knock, then the owner's secret, then devices. Who is wrong too often waits."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import anyio

from roost.core.devices import Devices
from roost.core.entrance import origin_allowed, throttled_by
from roost.core.errors import StoreUnavailable
from roost.ports.limits import OutOfTime, within
from roost.protocol.handshake import NO_CREDENTIAL, Connect, Refusal
from roost.protocol.turnedaway import FOREIGN_PAGE, throttled, unproven
from roost.server.auth import Admitted, Peer, SharedSecret
from roost.server.house import House
from roost.server.pairing import Pairing
from roost.server.signatures import flaw
from roost.server.throttle import Throttle

SLOWED_MS = 1_000
SLOWED_AT_ONCE = 16
SLOWED_EACH = 4
"""How many attempts of one source may wait."""
CHECKED_EVERY_MS = 200
UNSURE_MS = 700
REVOKED, REVOKED_REASON = 1008, "credential revoked"


class Gatekeeper:
    def __init__(self, house: House, secret: SharedSecret) -> None:
        self._house = house
        self._secret = secret
        self._pairing = Pairing(house)
        self._throttle = Throttle()
        self._slowed = anyio.Semaphore(SLOWED_AT_ONCE)
        self._waiting: Counter[str] = Counter()

    async def admit(self, connect: Connect, peer: Peer) -> Admitted | Refusal:
        entrance = self._house.engine.rules.house.entrance
        if peer.origin is not None and not origin_allowed(peer.origin, peer.called, entrance):
            return FOREIGN_PAGE
        clock, limit = self._house.clock, entrance.attempts
        retry_ms = self._throttle.retry_ms(peer.host, clock.now(), limit)
        if retry_ms:
            name = throttled_by(peer.host)
            if self._waiting[name] >= SLOWED_EACH:
                return throttled(retry_ms)
            await self._slow(name)
        found = await self._judge(connect, peer)
        # Who showed nothing has guessed nothing.
        if isinstance(found, Admitted) or found is NO_CREDENTIAL:
            return found
        self._throttle.count(peer.host, clock.now(), limit)
        return throttled(retry_ms) if retry_ms else found

    async def _slow(self, name: str) -> None:
        self._waiting[name] += 1
        try:
            async with self._slowed:
                await self._house.clock.sleep(SLOWED_MS)
        finally:
            self._waiting[name] -= 1
            if not self._waiting[name]:
                del self._waiting[name]

    async def _judge(self, connect: Connect, peer: Peer) -> Admitted | Refusal:
        device = connect.device
        if device is not None:
            wrong = flaw(connect, device, peer.nonce, self._house.clock.now())
            if wrong is not None:
                return unproven(wrong)
        found = await self._secret.admit(connect, peer)
        if isinstance(found, Admitted) or device is None:
            return found
        return await self._pairing.admit(connect, device, peer, found)

    async def watch(self) -> None:
        """Until cancelled, see that whoever is in may still be."""
        while True:
            await self._house.clock.sleep(CHECKED_EVERY_MS)
            # Secrets first: whether they hold is known without the store.
            self._end(lambda admitted: admitted.device is None and not self._secret.stands(admitted))
            if any(admitted.device is not None for admitted in self._inside()):
                self._end(partial(self._is_no_more, await self._devices()))

    def _inside(self) -> Iterator[Admitted]:
        yield from (client.admitted for client in self._house.clients)
        yield from (admitted for _, admitted in self._house.callers)

    def _end(self, gone: Callable[[Admitted], bool]) -> None:
        for client in self._house.clients:
            if gone(client.admitted):
                client.connection.end()
                client.outgoing.cut(REVOKED, REVOKED_REASON)
        for scope, admitted in self._house.callers:
            if gone(admitted):
                scope.cancel()

    async def _devices(self) -> Devices:
        """Those that are paired. While nobody can say, none is: one could have been taken back elsewhere."""
        try:
            return await within(self._house.clock, UNSURE_MS, self._house.store.devices)
        except (OutOfTime, StoreUnavailable):
            return Devices()

    def _is_no_more(self, devices: Devices, admitted: Admitted) -> bool:
        return admitted.device is not None and not self._pairing.stands(admitted, devices)
