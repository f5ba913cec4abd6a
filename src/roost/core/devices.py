"""Devices: who asked to be paired, who was, and with what.

A device is known by its key. What it may do is what was approved, never what it asks for; its token is bound to the
key, is handed over once, and is kept as a digest.
"""

import hmac
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import TypeAlias, TypeVar

from roost.core.errors import Forbidden, InvalidInput, NotFound
from roost.core.grants import EVERY, Role, Scope, lacking
from roost.core.principals import OWNER, Principal, node

Found = TypeVar("Found")

REQUEST_MS = 10 * 60_000
MOST_PENDING = 64
MOST_PENDING_OF_ONE = 8
MOST_PAIRED = 500


def digest(token: str) -> str:
    """How a token is kept. It is long and random, so that one round is enough."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceIdentity:
    """A device as it introduces itself; of this only the key is proven."""

    id: str
    public_key: str
    client_id: str
    client_mode: str
    platform: str
    family: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRequest:
    """A device that asks to be paired. `code` is shown to those who may approve, and to nobody else."""

    id: str
    identity: DeviceIdentity
    role: str
    scopes: tuple[Scope, ...]
    address: str
    code: str
    at: int
    repair: bool = False

    def live(self, now: int) -> bool:
        return now < self.at + REQUEST_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    digest: str
    scopes: tuple[Scope, ...]
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Which gateway a node is connected to, and since when."""

    gateway: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device that was approved. Without a token it gets one when it next comes, unless that was taken from it."""

    identity: DeviceIdentity
    principal: Principal
    role: str
    scopes: tuple[Scope, ...]
    approved_at: int
    token: Token | None = None
    revoked_at: int | None = None
    met: Met | None = None

    @property
    def id(self) -> str:
        return self.identity.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """All there are, of both sorts."""

    paired: tuple[Device, ...] = ()
    pending: tuple[PairingRequest, ...] = ()

    def find(self, device_id: str) -> Device | None:
        return next((one for one in self.paired if one.id == device_id), None)

    def put(self, device: Device) -> "Devices":
        if self.find(device.id) is None:
            return replace(self, paired=(*self.paired, device))
        return replace(self, paired=tuple(device if one.id == device.id else one for one in self.paired))

    def without_requests_of(self, device_id: str) -> "Devices":
        return replace(self, pending=tuple(one for one in self.pending if one.identity.id != device_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """Who approves or hands out, and what he has himself."""

    principal: Principal
    scopes: Collection[Scope]


class Standing(StrEnum):
    """How a device that proved its key stands."""

    UNKNOWN = "unknown"
    APPROVED = "approved"
    HOLDS_TOKEN = "holds-token"  # noqa: S105 — a standing, not a credential
    WRONG_TOKEN = "wrong-token"  # noqa: S105 — a standing, not a credential
    WITHOUT_TOKEN = "without-token"  # noqa: S105 — a standing, not a credential


def standing(device: Device | None, shown: Sequence[str]) -> Standing:
    """`shown` is whatever the device gave for a credential."""
    if device is None:
        return Standing.UNKNOWN
    if device.token is None:
        return Standing.APPROVED if device.revoked_at is None else Standing.WITHOUT_TOKEN
    kept = device.token.digest
    if any(_same(kept, digest(one)) for one in shown):
        return Standing.HOLDS_TOKEN
    return Standing.WRONG_TOKEN if shown else Standing.WITHOUT_TOKEN


def knock(devices: Devices, wanted: PairingRequest) -> tuple[Devices, PairingRequest | None]:
    """Remember who asks to be paired; who asks for the same again is known already. None where too many ask."""
    devices = _fresh(devices, wanted.at)
    before = next((one for one in devices.pending if one.identity.id == wanted.identity.id), None)
    if before is not None and (before.role, before.scopes) == (wanted.role, wanted.scopes):
        return devices, before
    others = devices.without_requests_of(wanted.identity.id)
    of_one = sum(one.address == wanted.address for one in others.pending)
    if len(others.pending) >= MOST_PENDING or of_one >= MOST_PENDING_OF_ONE:
        return devices, None
    asked = replace(wanted, repair=devices.find(wanted.identity.id) is not None)
    return replace(others, pending=(*others.pending, asked)), asked


def approve(devices: Devices, request_id: str, by: Issuer, now: int) -> tuple[Devices, Device]:
    """Pair the device of a request with what it asked for, all of which who approves must have. A node speaks for itself,
    never for who approved it."""
    devices = _fresh(devices, now)
    request = _request(devices, request_id)
    _refuse_more(request.scopes, by.scopes)
    if len(devices.paired) >= MOST_PAIRED and devices.find(request.identity.id) is None:
        raise InvalidInput(f"{MOST_PAIRED} devices are paired", hint="remove one that is not used any more")
    device = Device(
        identity=request.identity,
        principal=node(request.identity.id) if request.role == Role.NODE else by.principal,
        role=request.role,
        scopes=request.scopes,
        approved_at=now,
    )
    return devices.without_requests_of(device.id).put(device), device


def redeem(devices: Devices, device_id: str, code: str, now: int) -> tuple[Devices, Device] | None:
    """Pair a device that shows the code of its own request; None where it is another."""
    asked = [one for one in _fresh(devices, now).pending if one.identity.id == device_id]
    matching = next((one for one in asked if _same(one.code, code)), None)
    if matching is None:
        return None
    return approve(devices, matching.id, Issuer(principal=OWNER, scopes=EVERY), now)


def reject(devices: Devices, request_id: str, now: int) -> tuple[Devices, PairingRequest]:
    request = _request(_fresh(devices, now), request_id)
    return devices.without_requests_of(request.identity.id), request


def issue(devices: Devices, device_id: str, token: str, now: int) -> tuple[Devices, Device] | None:
    """Give an approved device its token; None where it has one, had one, or is gone."""
    device = devices.find(device_id)
    if device is None or standing(device, ()) is not Standing.APPROVED:
        return None
    issued = replace(device, token=Token(digest=digest(token), scopes=device.scopes, at=now))
    return devices.put(issued), issued


def rotate(
    devices: Devices, device_id: str, wanted: Sequence[Scope] | None, token: str, *, by: Issuer, now: int
) -> tuple[Devices, Device]:
    """Another token in place of the one before, with scopes that both who asks and the device's record hold."""
    device = _device(devices, device_id)
    before = device.token.scopes if device.token is not None else device.scopes
    scopes = before if wanted is None else tuple(dict.fromkeys(wanted))
    _refuse_more(scopes, device.scopes)
    _refuse_more(scopes, by.scopes)
    rotated = replace(device, token=Token(digest=digest(token), scopes=scopes, at=now), revoked_at=None)
    return devices.put(rotated), rotated


def revoke(devices: Devices, device_id: str, now: int) -> tuple[Devices, Device]:
    """Take its token from a device; it stays known, and must be approved again."""
    revoked = replace(_device(devices, device_id), token=None, revoked_at=now)
    return devices.put(revoked), revoked


def remove(devices: Devices, device_id: str) -> tuple[Devices, Device]:
    device = _device(devices, device_id)
    kept = tuple(one for one in devices.paired if one.id != device_id)
    return replace(devices.without_requests_of(device_id), paired=kept), device


def meet(devices: Devices, gateway: str, here: Mapping[str, int]) -> Devices:
    """As a gateway finds them to whom those `here` are connected, since when. Of two gateways the newer connection counts: the
    older may be dead and not know it."""
    return replace(devices, paired=tuple(_met_here(one, gateway, here.get(one.id)) for one in devices.paired))


def _met_here(device: Device, gateway: str, since: int | None) -> Device:
    known = device.met
    ours = known is not None and known.gateway == gateway
    if since is not None and (known is None or ours or known.at < since):
        return replace(device, met=Met(gateway=gateway, at=since))
    return replace(device, met=None) if since is None and ours else device


def _fresh(devices: Devices, now: int) -> Devices:
    return replace(devices, pending=tuple(one for one in devices.pending if one.live(now)))


def _request(devices: Devices, request_id: str) -> PairingRequest:
    for one in devices.pending:
        if one.id == request_id:
            return one
    raise NotFound("unknown requestId", hint="it may have run out: see the list of devices")


def _device(devices: Devices, device_id: str) -> Device:
    device = devices.find(device_id)
    if device is None:
        raise NotFound("unknown deviceId", hint="see the list of devices")
    return device


def _refuse_more(scopes: Sequence[Scope], record: Collection[Scope]) -> None:
    missing = lacking(scopes, record)
    if missing is not None:
        raise Forbidden(f"missing scope: {missing}", hint="nobody can hand out a scope that he has not")


Row: TypeAlias = Device | PairingRequest
Decide: TypeAlias = Callable[[Devices], tuple[Devices, Found]]


def row_name(one: Row) -> str:
    """What a device or a request is kept under. A device asks once at a time."""
    return f"paired:{one.id}" if isinstance(one, Device) else f"pending:{one.identity.id}"


def gathered(rows: Iterable[object]) -> Devices:
    """Those among what is kept of whoever was let in."""
    found = tuple(rows)
    return Devices(
        paired=tuple(one for one in found if isinstance(one, Device)),
        pending=tuple(one for one in found if isinstance(one, PairingRequest)),
    )


def rows_of(devices: Devices) -> dict[str, Row]:
    rows: tuple[Row, ...] = (*devices.paired, *devices.pending)
    return {row_name(one): one for one in rows}
