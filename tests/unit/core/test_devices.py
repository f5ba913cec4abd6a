"""Pairing: who asks, who is approved, and what a token is good for."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from roost.core.devices import (
    MOST_PAIRED,
    MOST_PENDING,
    MOST_PENDING_OF_ONE,
    REQUEST_MS,
    Device,
    DeviceIdentity,
    Devices,
    Issuer,
    Met,
    PairingRequest,
    Standing,
    approve,
    digest,
    gathered,
    issue,
    knock,
    meet,
    redeem,
    reject,
    remove,
    revoke,
    rotate,
    rows_of,
    standing,
)
from roost.core.errors import Forbidden, InvalidInput, NotFound
from roost.core.grants import EVERY, Scope
from roost.core.principals import OWNER

OWNER_SELF = Issuer(principal=OWNER, scopes=EVERY)
HELPER = Issuer(principal=OWNER, scopes=(Scope.PAIRING, Scope.READ))


def request(
    name: str = "d", *, scopes: Sequence[Scope] = (Scope.READ,), at: int = 0, address: str = "a"
) -> PairingRequest:
    return PairingRequest(
        id=f"r-{name}-{at}",
        identity=DeviceIdentity(id=name, public_key="k", client_id="tui", client_mode="ui", platform="linux"),
        role="operator",
        scopes=tuple(scopes),
        address=address,
        code="CODE",
        at=at,
    )


def asked(*requests: PairingRequest) -> Devices:
    devices = Devices()
    for one in requests:
        devices, found = knock(devices, one)
        assert found is not None
    return devices


def paired(scopes: Sequence[Scope] = (Scope.READ, Scope.WRITE)) -> Devices:
    return approve(asked(request(scopes=scopes)), "r-d-0", OWNER_SELF, 1)[0]


def test_who_asks_for_the_same_again_is_known_already() -> None:
    devices = asked(request())
    assert knock(devices, request(at=5)) == (devices, devices.pending[0])
    other, found = knock(devices, request(scopes=(Scope.ADMIN,), at=5))
    assert other.pending == (found,)
    late, again = knock(devices, request(at=REQUEST_MS))
    assert late.pending == (again,)
    assert again is not None
    assert again.at == REQUEST_MS


@pytest.mark.requirement("S23")
def test_nobody_fills_the_list_of_those_who_ask() -> None:
    many = asked(*(request(f"d{n}", address=f"a{n}") for n in range(MOST_PENDING)))
    assert knock(many, request("late", address="late")) == (many, None)
    of_one = asked(*(request(f"d{n}") for n in range(MOST_PENDING_OF_ONE)))
    assert knock(of_one, request("more")) == (of_one, None)
    assert knock(of_one, request("d0", scopes=()))[1] is not None
    assert knock(of_one, request("other", address="b"))[1] is not None


def test_a_device_is_approved_with_what_it_asked_for() -> None:
    devices, device = approve(asked(request(), request("e")), "r-d-0", HELPER, 7)
    assert (device.scopes, device.principal, device.approved_at, device.token) == (
        (Scope.READ,),
        OWNER,
        7,
        None,
    )
    assert devices.find("d") == device
    assert [one.identity.id for one in devices.pending] == ["e"]
    assert knock(devices, request(at=8))[1] == replace(request(at=8), repair=True)
    with pytest.raises(NotFound):
        approve(devices, "r-d-0", OWNER_SELF, 8)
    with pytest.raises(NotFound):
        approve(devices, "r-e-0", OWNER_SELF, REQUEST_MS)


@pytest.mark.requirement("S4")
def test_nobody_approves_more_than_he_has() -> None:
    devices = asked(request(scopes=(Scope.READ, Scope.ADMIN)))
    with pytest.raises(Forbidden, match=r"missing scope: operator\.admin"):
        approve(devices, "r-d-0", HELPER, 1)


def test_there_is_room_for_so_many_devices() -> None:
    device = paired().paired[0]
    full = replace(
        asked(request("new")),
        paired=tuple(
            replace(device, identity=replace(device.identity, id=f"p{n}")) for n in range(MOST_PAIRED)
        ),
    )
    with pytest.raises(InvalidInput, match="remove one"):
        approve(full, "r-new-0", OWNER_SELF, 1)
    again, _ = knock(full, request("p0"))
    assert len(approve(again, "r-p0-0", OWNER_SELF, 1)[0].paired) == MOST_PAIRED


@pytest.mark.requirement("S2")
def test_a_device_pairs_by_the_code_of_its_own_request_only() -> None:
    devices = asked(request(), replace(request("e"), code="OTHER"))
    assert redeem(devices, "d", "OTHER", 1) is None
    assert redeem(devices, "nobody", "CODE", 1) is None
    assert redeem(devices, "d", "CODE", REQUEST_MS) is None
    found = redeem(devices, "d", "CODE", 1)
    assert found is not None
    assert found[1].id == "d"


def test_who_is_rejected_is_forgotten() -> None:
    devices, rejected = reject(asked(request()), "r-d-0", 1)
    assert (devices, rejected.identity.id) == (Devices(), "d")
    with pytest.raises(NotFound):
        reject(devices, "r-d-0", 1)


def test_a_token_is_handed_over_once_and_kept_as_a_digest() -> None:
    found = issue(paired(), "d", "t0ken", 3)
    assert found is not None
    devices, device = found
    assert device.token is not None
    assert (device.token.digest, device.token.at) == (digest("t0ken"), 3)
    assert "t0ken" not in repr(devices)
    assert issue(devices, "d", "other", 4) is None
    assert issue(devices, "nobody", "other", 4) is None
    assert standing(device, ("x", "t0ken")) is Standing.HOLDS_TOKEN
    assert standing(device, ("x",)) is Standing.WRONG_TOKEN
    assert standing(device, ()) is Standing.WITHOUT_TOKEN
    assert standing(None, ("t0ken",)) is Standing.UNKNOWN


@pytest.mark.requirement("S12")
def test_what_is_revoked_or_removed_is_good_for_nothing() -> None:
    found = issue(paired(), "d", "t0ken", 3)
    assert found is not None
    devices, device = revoke(found[0], "d", 5)
    assert standing(device, ("t0ken",)) is Standing.WITHOUT_TOKEN
    assert issue(devices, "d", "other", 6) is None
    gone, _ = remove(devices, "d")
    assert gone == Devices()
    with pytest.raises(NotFound):
        remove(gone, "d")
    with pytest.raises(NotFound):
        revoke(gone, "d", 1)


@pytest.mark.requirement("S4")
def test_a_rotated_token_has_at_most_what_the_device_and_who_rotates_have() -> None:
    devices, device = rotate(paired(), "d", (Scope.READ,), "new", by=HELPER, now=9)
    assert device.token is not None
    assert device.token.scopes == (Scope.READ,)
    assert device.scopes == (Scope.READ, Scope.WRITE)
    again = rotate(devices, "d", None, "newer", by=HELPER, now=10)[1]
    assert again.token is not None
    assert again.token.scopes == (Scope.READ,)
    for wanted, by in (((Scope.ADMIN,), OWNER_SELF), ((Scope.WRITE,), HELPER)):
        with pytest.raises(Forbidden, match="missing scope"):
            rotate(devices, "d", wanted, "x", by=by, now=10)
    with pytest.raises(Forbidden):
        rotate(paired(), "d", None, "x", by=HELPER, now=10)


def test_devices_are_kept_one_by_one() -> None:
    devices, _ = knock(paired(), request("e"))
    rows = rows_of(devices)
    assert list(rows) == ["paired:d", "pending:e"]
    assert gathered(rows.values()) == devices
    assert isinstance(rows["paired:d"], Device)


def node_named(name: str) -> Device:
    (device,) = paired().paired
    return replace(device, identity=replace(device.identity, id=name))


def test_where_a_node_is_connected_is_what_its_gateway_says() -> None:
    one, other = node_named("n1"), node_named("n2")
    known = Devices(paired=(one, other))
    met = meet(known, "here", {"n1": 5})
    assert [device.met for device in met.paired] == [Met(gateway="here", at=5), None]
    assert meet(met, "here", {"n1": 5}) == met
    assert meet(met, "there", {}) == met
    assert meet(met, "here", {}) == known


def test_of_two_gateways_that_have_a_node_the_newer_connection_counts() -> None:
    first = meet(Devices(paired=(node_named("n1"),)), "here", {"n1": 5})
    moved = meet(first, "there", {"n1": 6})
    assert moved.paired[0].met == Met(gateway="there", at=6)
    assert meet(moved, "here", {"n1": 5}) == moved
    assert meet(moved, "here", {}) == moved
