"""Devices at the door: a paired one is let in by its key and token, another may ask to be paired."""

import logging
import secrets

from roost.core.devices import (
    Device,
    DeviceIdentity,
    Devices,
    PairingRequest,
    Standing,
    digest,
    issue,
    knock,
    redeem,
    standing,
)
from roost.core.grants import EVERY, Role, Scope, grant
from roost.engine.ids import new_code
from roost.protocol.convert.devices import requested, resolved
from roost.protocol.handshake import Connect, Refusal
from roost.protocol.handshake import Device as Proof
from roost.protocol.turnedaway import CROWDED, WRONG_CODE, WRONG_DEVICE_TOKEN, to_be_paired
from roost.server.auth import Admitted, Issued, Peer
from roost.server.house import House

_log = logging.getLogger(__name__)

TOKEN_BYTES = 32
METHOD = "device-token"


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


class Pairing:
    def __init__(self, house: House) -> None:
        self._house = house

    async def admit(
        self, connect: Connect, proof: Proof, peer: Peer, otherwise: Refusal
    ) -> Admitted | Refusal:
        """Whether a device that proved its key comes in; `otherwise` is what somebody without one would be told."""
        auth = connect.auth
        if auth.bootstrap_token:
            return await self._by_code(connect, proof, auth.bootstrap_token)
        shown = [one for one in (auth.device_token, auth.token, auth.password) if one]
        device = (await self._house.store.devices()).find(proof.id)
        if device is not None and device.role != connect.role:
            # What was approved was the other role.
            device = None
        match standing(device, shown):
            case Standing.HOLDS_TOKEN if device is not None and device.token is not None:
                return _admitted(device, device.token.scopes, device.token.digest, connect)
            case Standing.APPROVED if not shown:
                return await self._hand_over(connect, proof, peer)
            case _ if auth.device_token:
                return WRONG_DEVICE_TOKEN
            case _ if shown:
                return otherwise
            case _:
                return await self._ask(connect, proof, peer)

    def stands(self, admitted: Admitted, devices: Devices) -> bool:
        """Whether what a device came in with is still its own, and holds as much."""
        device = devices.find(admitted.device or "")
        if device is None or device.token is None or device.token.digest != admitted.proof:
            return False
        return grant(admitted.scopes, device.token.scopes) == admitted.scopes

    async def _by_code(self, connect: Connect, proof: Proof, code: str) -> Admitted | Refusal:
        now, token = self._house.clock.now(), new_token()

        def decide(known: Devices) -> tuple[Devices, tuple[str, Device] | None]:
            asked = next((one for one in known.pending if _is_of(one, connect, proof)), None)
            paired = None if asked is None else redeem(known, proof.id, code, now)
            given = None if paired is None else issue(paired[0], proof.id, token, now)
            return (known, None) if asked is None or given is None else (given[0], (asked.id, given[1]))

        found = await self._house.store.change_devices(decide)
        if found is None:
            return WRONG_CODE
        request_id, device = found
        _log.info("device %s was paired by its code, as %s", device.id, device.role)
        self._house.clients.tell(resolved(request_id, device.id, "approved", now))
        return _admitted(device, device.scopes, digest(token), connect, Issued(token=token, at=now))

    async def _hand_over(self, connect: Connect, proof: Proof, peer: Peer) -> Admitted | Refusal:
        now, token = self._house.clock.now(), new_token()

        def decide(known: Devices) -> tuple[Devices, Device | None]:
            return issue(known, proof.id, token, now) or (known, None)

        device = await self._house.store.change_devices(decide)
        if device is None:
            return await self._ask(connect, proof, peer)
        return _admitted(device, device.scopes, digest(token), connect, Issued(token=token, at=now))

    async def _ask(self, connect: Connect, proof: Proof, peer: Peer) -> Refusal:
        wanted = PairingRequest(
            id=self._house.new_id(),
            identity=_identity(connect, proof),
            role=connect.role,
            scopes=() if connect.role == Role.NODE else grant(connect.scopes, EVERY),
            address=peer.host,
            code=new_code(),
            at=self._house.clock.now(),
        )
        asked = await self._house.store.change_devices(lambda known: knock(known, wanted))
        if asked is None:
            return CROWDED
        if asked.id == wanted.id:
            _log.info("device %s asks to be paired, as %s", asked.identity.id, asked.role)
            self._house.clients.tell(requested(asked))
        return to_be_paired(asked)


def _is_of(request: PairingRequest, connect: Connect, proof: Proof) -> bool:
    return request.identity.id == proof.id and request.role == connect.role


def _identity(connect: Connect, proof: Proof) -> DeviceIdentity:
    client = connect.client
    return DeviceIdentity(
        id=proof.id,
        public_key=proof.public_key,
        client_id=client.id,
        client_mode=client.mode,
        platform=client.platform,
        family=client.device_family,
        name=client.display_name,
    )


def _admitted(
    device: Device, record: tuple[Scope, ...], proof: str, connect: Connect, issued: Issued | None = None
) -> Admitted:
    return Admitted(
        principal=device.principal,
        method=METHOD,
        scopes=grant(connect.scopes, record),
        device=device.id,
        proof=proof,
        issued=issued,
    )
