"""Pairing devices. Open connections of a device that loses something are ended by who watches them."""

import logging
from collections.abc import Sequence

from roost.core import devices as core
from roost.core.devices import Devices, Issuer
from roost.core.errors import InvalidInput
from roost.core.grants import Role, Scope
from roost.protocol.convert.devices import paired, pending, resolved
from roost.protocol.families import devices
from roost.protocol.families.devices import Approved, Paired, Rejected, Removed, Revoked, Rotated
from roost.protocol.params import NoParams
from roost.server.calls import Call
from roost.server.pairing import new_token

_log = logging.getLogger(__name__)


async def list_devices(call: Call, params: NoParams) -> Paired:
    return await listed(call, *Role)


async def listed(call: Call, *roles: Role) -> Paired:
    """Those of these roles."""
    found, now = await call.house.store.devices(), call.house.clock.now()
    held = _issuer(call).scopes
    return Paired(
        pending=[
            pending(one, held)
            for one in sorted(found.pending, key=lambda one: -one.at)
            if one.live(now) and one.role in roles
        ],
        paired=[
            paired(one) for one in sorted(found.paired, key=lambda one: -one.approved_at) if one.role in roles
        ],
    )


async def approve(call: Call, params: devices.RequestParams) -> Approved:
    house, now, by = call.house, call.house.clock.now(), _issuer(call)
    device = await house.store.change_devices(lambda known: core.approve(known, params.request_id, by, now))
    _note(call, device.id, "approved")
    house.clients.tell(resolved(params.request_id, device.id, "approved", now))
    return Approved(requestId=params.request_id, device=paired(device))


async def reject(call: Call, params: devices.RequestParams) -> Rejected:
    house, now = call.house, call.house.clock.now()
    request = await house.store.change_devices(lambda known: core.reject(known, params.request_id, now))
    _note(call, request.identity.id, "rejected")
    house.clients.tell(resolved(request.id, request.identity.id, "rejected", now))
    return Rejected(requestId=request.id, deviceId=request.identity.id, rejectedAtMs=now)


async def remove(call: Call, params: devices.DeviceParams) -> Removed:
    await call.house.store.change_devices(lambda known: core.remove(known, params.device_id))
    _note(call, params.device_id, "removed")
    return Removed(deviceId=params.device_id, removedAtMs=call.house.clock.now())


async def rotate(call: Call, params: devices.RotateParams) -> Rotated:
    now, token, by = call.house.clock.now(), new_token(), _issuer(call)
    wanted = None if params.scopes is None else _scopes(params.scopes)
    device = await call.house.store.change_devices(
        lambda known: core.rotate(_of_role(known, params), params.device_id, wanted, token, by=by, now=now)
    )
    _note(call, device.id, "given another token")
    scopes = device.token.scopes if device.token is not None else ()
    return Rotated(
        deviceId=device.id,
        role=device.role,
        token=token,
        scopes=[str(one) for one in scopes],
        rotatedAtMs=now,
    )


async def revoke(call: Call, params: devices.TokenParams) -> Revoked:
    now = call.house.clock.now()
    device = await call.house.store.change_devices(
        lambda known: core.revoke(_of_role(known, params), params.device_id, now)
    )
    _note(call, device.id, "deprived of its token")
    return Revoked(deviceId=device.id, role=device.role, revokedAtMs=now)


def _note(call: Call, device_id: str, what: str) -> None:
    _log.info("device %s was %s by %s", device_id, what, call.client.admitted)


def _issuer(call: Call) -> Issuer:
    admitted = call.client.admitted
    return Issuer(principal=admitted.principal, scopes=admitted.scopes)


def _of_role(known: Devices, params: devices.TokenParams) -> Devices:
    device = known.find(params.device_id)
    if device is not None and params.role not in (None, device.role):
        raise InvalidInput(f"this device has the role {device.role}", hint="name that, or none")
    return known


def _scopes(names: Sequence[str]) -> tuple[Scope, ...]:
    unknown = next((one for one in names if one not in tuple(Scope)), None)
    if unknown is not None:
        raise InvalidInput(f"unknown scope {unknown!r}", hint=f"there are: {', '.join(Scope)}")
    return tuple(Scope(one) for one in names)
