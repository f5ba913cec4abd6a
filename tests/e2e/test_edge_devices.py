"""Devices at a gateway's port: who pairs, with what, and for how long."""

from pathlib import Path

import anyio
import pytest

from tests.e2e.edges import ALL, Device, knocking, owner, refused, secret_of
from tests.e2e.test_gateway import served


@pytest.mark.requirement("S2")
async def test_a_device_without_the_secret_pairs_by_approval_from_loopback_too(tmp_path: Path) -> None:
    device = Device()
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        first = (await device.knock(gateway))["error"]
        assert (first["code"], first["details"]["code"]) == ("NOT_PAIRED", "PAIRING_REQUIRED")
        told = await caller.event("device.pair.requested")
        assert (told["requestId"], told["deviceId"]) == (first["details"]["requestId"], device.id)
        (asked,) = (await caller.call("device.pair.list"))["payload"]["pending"]
        assert "code" not in told
        assert asked["code"] not in str(first)
        again = (await device.knock(gateway))["error"]
        assert again["details"]["requestId"] == told["requestId"]

        approved = (await caller.call("device.pair.approve", {"requestId": told["requestId"]}))["payload"]
        assert approved["device"]["deviceId"] == device.id
        assert (await caller.event("device.pair.resolved"))["decision"] == "approved"
        hello = (await device.knock(gateway))["payload"]
        token = hello["auth"]["deviceToken"]
        assert (len(token), hello["auth"]["method"]) == (43, "device-token")
        # Handed over once: afterwards the key alone is not enough, and the token alone is nothing.
        assert (await device.knock(gateway))["error"]["details"]["code"] == "PAIRING_REQUIRED"
        assert (await device.knock(gateway, deviceToken=token))["ok"]
        assert (await device.knock(gateway, token=token))["ok"]
        assert await refused(gateway, auth={"deviceToken": token}) == "AUTH_TOKEN_MISMATCH"
        assert (await Device().knock(gateway, deviceToken=token))["error"]["details"]["code"] == (
            "AUTH_DEVICE_TOKEN_MISMATCH"
        )
        listed = (await caller.call("device.pair.list"))["payload"]
        assert token not in str(listed)
        assert [one["deviceId"] for one in listed["paired"]] == [device.id]
    async with served(tmp_path) as gateway:
        assert (await device.knock(gateway, deviceToken=token))["ok"]
    assert token.encode() not in (tmp_path / "roost.db").read_bytes()


@pytest.mark.requirement("S2")
async def test_a_device_pairs_by_the_code_shown_on_the_owners_side(tmp_path: Path) -> None:
    device, other = Device(), Device()
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        await device.knock(gateway)
        await other.knock(gateway)
        pending = (await caller.call("device.pair.list"))["payload"]["pending"]
        codes = {one["deviceId"]: one["code"] for one in pending}
        wrong = await device.knock(gateway, bootstrapToken=codes[other.id])
        assert wrong["error"]["details"]["code"] == "AUTH_BOOTSTRAP_TOKEN_INVALID"
        paired = await device.knock(gateway, bootstrapToken=codes[device.id])
        assert len(paired["payload"]["auth"]["deviceToken"]) == 43
        used = await device.knock(gateway, bootstrapToken=codes[device.id])
        assert used["error"]["details"]["code"] == "AUTH_BOOTSTRAP_TOKEN_INVALID"


@pytest.mark.requirement("S3")
async def test_a_device_gets_what_was_approved_however_much_it_asks_for(tmp_path: Path) -> None:
    device = Device()
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        asked = (await device.knock(gateway, ["operator.read"]))["error"]["details"]["requestId"]
        await caller.call("device.pair.approve", {"requestId": asked})
        hello = (await device.knock(gateway, ALL))["payload"]["auth"]
        assert hello["scopes"] == ["operator.read"]
        async with knocking(gateway) as greedy:
            await device.ask(greedy, ALL, {"deviceToken": hello["deviceToken"]})
            sent = {"sessionKey": "main", "message": "x", "idempotencyKey": "k"}
            assert (await greedy.call("chat.send", sent))["error"]["code"] == "FORBIDDEN"
            assert (await greedy.call("device.pair.list"))["error"]["code"] == "FORBIDDEN"


@pytest.mark.requirement("S4")
async def test_who_may_only_pair_makes_nobody_stronger_than_himself(tmp_path: Path) -> None:
    device = Device()
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        asked = (await device.knock(gateway, ["operator.admin"]))["error"]["details"]["requestId"]
        async with owner(gateway, ["operator.pairing"]) as helper:
            refusal = (await helper.call("device.pair.approve", {"requestId": asked}))["error"]
            assert (refusal["code"], "operator.admin" in refusal["message"]) == ("FORBIDDEN", True)
            (shown,) = (await helper.call("device.pair.list"))["payload"]["pending"]
            assert (shown["requestId"], "code" in shown) == (asked, False)
            assert (await caller.call("device.pair.approve", {"requestId": asked}))["ok"]
            for scopes in (None, ["operator.admin"], ["operator.read"]):
                params = {"deviceId": device.id, "role": "operator", "scopes": scopes}
                given = {name: value for name, value in params.items() if value is not None}
                assert (await helper.call("device.token.rotate", given))["error"]["code"] == "FORBIDDEN"
            small = {"deviceId": device.id, "scopes": ["operator.pairing"]}
            rotated = (await helper.call("device.token.rotate", small))["payload"]
            assert rotated["scopes"] == ["operator.pairing"]
        for wrong in ({"scopes": ["operator.everything"]}, {"role": "node"}):
            answer = await caller.call("device.token.rotate", {"deviceId": device.id, **wrong})
            assert answer["error"]["code"] == "INVALID_REQUEST"


@pytest.mark.requirement("S12")
@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("device.pair.remove", {}),
        ("device.token.revoke", {"role": "operator"}),
        ("device.token.rotate", {"scopes": []}),
    ],
)
async def test_what_is_taken_from_a_device_ends_its_open_connections(
    tmp_path: Path, method: str, more: dict[str, object]
) -> None:
    device = Device()
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        asked = (await device.knock(gateway))["error"]["details"]["requestId"]
        await caller.call("device.pair.approve", {"requestId": asked})
        async with knocking(gateway) as inside:
            token = (await device.ask(inside))["payload"]["auth"]["deviceToken"]
            assert (await inside.call("sessions.list"))["ok"]
            assert (await caller.call(method, {"deviceId": device.id, **more}))["ok"]
            with anyio.fail_after(60):
                assert await inside.ended() == (1008, "credential revoked")
        assert not (await device.knock(gateway, deviceToken=token))["ok"]
        assert (await caller.call("health"))["ok"]


async def test_a_request_that_is_rejected_is_gone(tmp_path: Path) -> None:
    device = Device()
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        asked = (await device.knock(gateway))["error"]["details"]["requestId"]
        rejected = (await caller.call("device.pair.reject", {"requestId": asked}))["payload"]
        assert rejected["deviceId"] == device.id
        assert (await caller.event("device.pair.resolved"))["decision"] == "rejected"
        late = await caller.call("device.pair.approve", {"requestId": asked})
        assert late["error"]["message"].startswith("unknown requestId")


@pytest.mark.parametrize("form", ["v3", "v2"])
async def test_a_device_may_come_with_the_secret_as_well(tmp_path: Path, form: str) -> None:
    async with served(tmp_path) as gateway:
        async with knocking(gateway) as caller:
            hello = await Device().ask(caller, ALL, {"token": secret_of(gateway)}, form=form)
            assert hello["payload"]["auth"]["scopes"] == ALL
            assert "deviceToken" not in hello["payload"]["auth"]
        async with knocking(gateway) as caller:
            hello = await Device().ask(caller, ALL, {"password": secret_of(gateway)}, form=form)
            assert hello["ok"]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"signature": "AAAA"}, "DEVICE_AUTH_SIGNATURE_INVALID"),
        ({"signature": "A" * 86}, "DEVICE_AUTH_SIGNATURE_INVALID"),
        ({"publicKey": "!"}, "DEVICE_AUTH_PUBLIC_KEY_INVALID"),
        ({"id": "0" * 64}, "DEVICE_AUTH_DEVICE_ID_MISMATCH"),
        ({"nonce": "another"}, "DEVICE_AUTH_NONCE_MISMATCH"),
        ({"signedAt": 1}, "DEVICE_AUTH_SIGNATURE_EXPIRED"),
    ],
)
async def test_a_device_that_proves_nothing_is_not_let_in_with_the_secret_either(
    tmp_path: Path, wrong: dict[str, object], code: str
) -> None:
    async with served(tmp_path) as gateway, knocking(gateway) as caller:
        answer = await Device().ask(caller, ALL, {"token": secret_of(gateway)}, **wrong)
        assert answer["error"]["details"]["code"] == code
