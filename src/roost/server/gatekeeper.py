"""Who comes in: first whether the page may knock, then the owner's secret, then devices. Who is wrong too often waits."""

import logging
from collections.abc import Callable, Collection, Iterator
from functools import partial

import anyio

from roost.core.devices import Devices, digest
from roost.core.entrance import origin_allowed, throttled_by
from roost.core.errors import StoreUnavailable
from roost.core.grants import Role
from roost.ports.limits import OutOfTime, within
from roost.protocol.handshake import (
    NO_CREDENTIAL,
    NODE_WITHOUT_DEVICE,
    OPERATOR,
    Connect,
    Refusal,
)
from roost.protocol.turnedaway import FOREIGN_PAGE, UNSEEN, throttled, unproven
from roost.server.auth import Admitted, Peer, SharedSecret
from roost.server.callers import REVOKED, UNCHECKED, Dismissal
from roost.server.guesses import Guesses
from roost.server.house import House
from roost.server.pairing import Pairing
from roost.server.signatures import flaw
from roost.server.throttle import Throttle

_log = logging.getLogger(__name__)

CHECKED_EVERY_MS = 200
ANSWER_MS = 3_000
"""A question that was not answered for so long is asked anew."""
UNCHECKED_MS = 10_000
"""For so long a device is believed while the store does not answer: one could have been taken back elsewhere."""


class Gatekeeper:
    def __init__(self, house: House, secret: SharedSecret) -> None:
        self._house = house
        self._secret = secret
        self._pairing = Pairing(house)
        self._throttle = Throttle()
        self._guesses = Guesses()

    async def admit(self, connect: Connect, peer: Peer) -> Admitted | Refusal:
        entrance = self._house.engine.rules.house.entrance
        if peer.origin is not None and not origin_allowed(peer.origin, peer.called, entrance):
            return FOREIGN_PAGE
        clock, limit = self._house.clock, entrance.attempts
        retry_ms = self._throttle.retry_ms(peer.host, clock.now(), limit)
        if retry_ms and not await self._guesses.wait(clock, throttled_by(peer.host), _shown(connect)):
            return UNSEEN
        found = await self._judge(connect, peer)
        # Who showed nothing has guessed nothing.
        if isinstance(found, Admitted) or found is NO_CREDENTIAL:
            return found
        self._throttle.count(peer.host, clock.now(), limit)
        return throttled(retry_ms) if retry_ms else found

    async def _judge(self, connect: Connect, peer: Peer) -> Admitted | Refusal:
        device = connect.device
        if device is not None:
            wrong = flaw(connect, device, peer.nonce, self._house.clock.now())
            if wrong is not None:
                return unproven(wrong)
        if connect.role == Role.NODE:
            return await self._node(connect, peer)
        found = await self._secret.admit(connect, peer)
        if isinstance(found, Admitted) or device is None:
            return found
        return await self._pairing.admit(connect, device, peer, found)

    async def _node(self, connect: Connect, peer: Peer) -> Admitted | Refusal:
        """A node is a paired device. The owner's secret does not make it one: with it a device only may ask."""
        if connect.device is None:
            return NODE_WITHOUT_DEVICE
        found = await self._secret.admit(connect.model_copy(update={"role": OPERATOR}), peer)
        if isinstance(found, Admitted):
            own = connect.auth.model_copy(update={"token": None, "password": None})
            asking = connect.model_copy(update={"auth": own})
            return await self._pairing.admit(asking, connect.device, peer, NO_CREDENTIAL)
        return await self._pairing.admit(connect, connect.device, peer, found)

    async def watch(self) -> None:
        """Until cancelled, see that whoever is in may still be."""
        # Apart: whether a secret holds is known without the store, however long that takes to answer.
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_secrets)
            group.start_soon(self._watch_devices)

    async def _watch_secrets(self) -> None:
        while True:
            await self._house.clock.sleep(CHECKED_EVERY_MS)
            self._dismiss(
                lambda admitted: admitted.device is None and not self._secret.stands(admitted), REVOKED
            )

    async def _watch_devices(self) -> None:
        """What the store said last holds until it answers again; only for so long."""
        clock = self._house.clock
        answered = clock.now()
        while True:
            await clock.sleep(CHECKED_EVERY_MS)
            # Of one who comes in while the store is asked, its answer says nothing.
            asked_for = [admitted for admitted in self._inside() if admitted.device is not None]
            if not asked_for:
                answered = clock.now()
                continue
            left_ms = answered + UNCHECKED_MS - clock.now()
            devices = await self._devices(min(ANSWER_MS, max(left_ms, CHECKED_EVERY_MS)))
            if devices is not None:
                answered = clock.now()
                gone = {id(one) for one in asked_for if not self._pairing.stands(one, devices)}
                self._dismiss(partial(_is_among, gone), REVOKED)
            elif clock.now() - answered >= UNCHECKED_MS:
                self._dismiss(lambda admitted: admitted.device is not None, UNCHECKED)

    def _inside(self) -> Iterator[Admitted]:
        yield from (client.admitted for client in self._house.clients)
        yield from (stay.admitted for stay in self._house.callers if stay.admitted is not None)

    def _dismiss(self, gone: Callable[[Admitted], bool], why: Dismissal) -> None:
        for client in self._house.clients:
            if gone(client.admitted) and not client.outgoing.overrun.is_set():
                _log.info("the connection of %s was cut: %s", client.admitted, why.reason)
                client.connection.end()
                client.outgoing.cut(why.close, why.reason)
        for stay in self._house.callers:
            if stay.admitted is not None and gone(stay.admitted) and not stay.scope.cancel_called:
                _log.info("a request of %s was cut: %s", stay.admitted, why.reason)
                stay.dismiss(why)

    async def _devices(self, most_ms: int) -> Devices | None:
        """Those that are paired; None while nobody can say."""
        try:
            return await within(self._house.clock, most_ms, self._house.store.devices)
        except (OutOfTime, StoreUnavailable):
            return None


def _shown(connect: Connect) -> str:
    """What tells one credential from another, and does not show it."""
    return digest(f"{connect.device and connect.device.id} {connect.auth.model_dump_json()}")


def _is_among(ids: Collection[int], admitted: Admitted) -> bool:
    return id(admitted) in ids
