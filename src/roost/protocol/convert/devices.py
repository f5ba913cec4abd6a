"""Devices as clients are shown them: never a token or its digest, a code only to those who may approve."""

from collections.abc import Collection
from typing import Literal

from roost.core.devices import Device, DeviceIdentity, PairingRequest
from roost.core.grants import Scope, lacking
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.events import PAIR_REQUESTED, PAIR_RESOLVED, Audience, WireEvent


def pending(request: PairingRequest, held: Collection[Scope]) -> JsonObject:
    """With its code for those who hold all that is asked for: whoever has the code can approve."""
    code: JsonObject = {"code": request.code} if lacking(request.scopes, held) is None else {}
    return {
        "requestId": request.id,
        **_identity(request.identity),
        "role": request.role,
        "roles": [request.role],
        "scopes": [str(scope) for scope in request.scopes],
        "remoteIp": request.address,
        "silent": False,
        "isRepair": request.repair,
        "ts": request.at,
        **code,
    }


def paired(device: Device) -> JsonObject:
    token = device.token
    tokens: list[JsonValue] = []
    if token is not None:
        scopes = [str(scope) for scope in token.scopes]
        tokens = [{"role": device.role, "scopes": scopes, "createdAtMs": token.at}]
    revoked: JsonObject = {} if device.revoked_at is None else {"revokedAtMs": device.revoked_at}
    return {
        **_identity(device.identity),
        "role": device.role,
        "roles": [device.role],
        "scopes": [str(scope) for scope in device.scopes],
        "approvedScopes": [str(scope) for scope in device.scopes],
        "approvedAtMs": device.approved_at,
        "createdAtMs": device.approved_at,
        "tokens": tokens,
        **revoked,
    }


def _identity(identity: DeviceIdentity) -> JsonObject:
    said: JsonObject = {
        "deviceId": identity.id,
        "publicKey": identity.public_key,
        "platform": identity.platform,
        "deviceFamily": identity.family,
        "displayName": identity.name,
        "clientId": identity.client_id,
        "clientMode": identity.client_mode,
    }
    return {name: value for name, value in said.items() if value is not None}


def requested(request: PairingRequest) -> WireEvent:
    return WireEvent(name=PAIR_REQUESTED, payload=pending(request, ()), audience=Audience.PAIRERS)


def resolved(
    request_id: str, device_id: str, decision: Literal["approved", "rejected", "removed"], now: int
) -> WireEvent:
    payload: JsonObject = {"requestId": request_id, "deviceId": device_id, "decision": decision, "ts": now}
    return WireEvent(name=PAIR_RESOLVED, payload=payload, audience=Audience.PAIRERS)
