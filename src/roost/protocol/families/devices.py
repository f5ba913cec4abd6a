"""Pairing devices."""

from typing import TypedDict

from roost.core.jsonvalue import JsonValue
from roost.protocol.method import Method
from roost.protocol.params import Name, Names, NoParams, Params
from roost.protocol.scopes import Scope


class RequestParams(Params):
    request_id: Name


class DeviceParams(Params):
    device_id: Name


class TokenParams(Params):
    """A `role` that is given must be the device's."""

    device_id: Name
    role: Name | None = None


class RotateParams(TokenParams):
    scopes: Names | None = None


class Paired(TypedDict):
    pending: list[JsonValue]
    paired: list[JsonValue]


class Approved(TypedDict):
    requestId: str
    device: JsonValue


class Rejected(TypedDict):
    requestId: str
    deviceId: str
    rejectedAtMs: int


class Removed(TypedDict):
    deviceId: str
    removedAtMs: int


class Rotated(TypedDict):
    deviceId: str
    role: str
    token: str
    scopes: list[str]
    rotatedAtMs: int


class Revoked(TypedDict):
    deviceId: str
    role: str
    revokedAtMs: int


LIST = Method(
    name="device.pair.list",
    about="Devices that are paired, and those that ask to be.",
    params=NoParams,
    result=Paired,
    needs=Scope.PAIRING,
    owners=True,
)
APPROVE = Method(
    name="device.pair.approve",
    about="Lets a device in that asked; nobody hands out a scope he has not.",
    params=RequestParams,
    result=Approved,
    needs=Scope.PAIRING,
    owners=True,
)
REJECT = Method(
    name="device.pair.reject",
    about="Turns a request down.",
    params=RequestParams,
    result=Rejected,
    needs=Scope.PAIRING,
    owners=True,
)
REMOVE = Method(
    name="device.pair.remove",
    about="Forgets a device; its connections end within a second.",
    params=DeviceParams,
    result=Removed,
    needs=Scope.PAIRING,
    owners=True,
)
ROTATE = Method(
    name="device.token.rotate",
    about="Gives a device another token, with no more scopes than before.",
    params=RotateParams,
    result=Rotated,
    needs=Scope.PAIRING,
    owners=True,
)
REVOKE = Method(
    name="device.token.revoke",
    about="Takes the token of a device back; its connections end within a second.",
    params=TokenParams,
    result=Revoked,
    needs=Scope.PAIRING,
    owners=True,
)
