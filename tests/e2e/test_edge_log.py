"""What is written down of strangers at a gateway's port, and of devices that come and go."""

import logging
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import InvalidStatus

from tests.e2e.edges import Device, knocking, owner, refused, secret_of
from tests.e2e.test_gateway import served


@pytest.mark.requirement("P29", "S2", "S19")
async def test_who_is_turned_away_is_written_down_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    foreign, proxied = {"Origin": "https://evil.example"}, {"X-Forwarded-For": "10.0.0.9"}
    async with served(tmp_path) as gateway:
        for _ in range(3):
            assert await refused(gateway, auth={"token": "guessed-wrong"}) == "AUTH_TOKEN_MISMATCH"
        assert (
            await refused(gateway, foreign, auth={"token": "guessed-wrong"})
        ) == "CONTROL_UI_ORIGIN_NOT_ALLOWED"
        with pytest.raises(InvalidStatus, match="403"):
            async with knocking(gateway, proxied):
                pass
        own = {"Authorization": f"Bearer {secret_of(gateway)}"}
        async with httpx2.AsyncClient(base_url=f"http://{gateway.host}:{gateway.port}", headers=own) as http:
            figures = (await http.get("/metrics")).text
    told = [one.getMessage() for one in caplog.records if one.name == "roost.server.strangers"]
    assert told == ["turned away: AUTH_TOKEN_MISMATCH from 127.0.0.1"]
    for code, times in (
        ("AUTH_TOKEN_MISMATCH", 3),
        ("CONTROL_UI_ORIGIN_NOT_ALLOWED", 1),
        ("PROXY_NOT_TRUSTED", 1),
    ):
        assert f'roost_turned_away_total{{code="{code}"}} {times}.0' in figures
    assert "guessed-wrong" not in caplog.text
    assert [
        one for one in caplog.records if one.name.startswith("uvicorn") and one.levelno > logging.INFO
    ] == []


@pytest.mark.requirement("P29", "S19")
async def test_an_upgrade_through_an_unlisted_proxy_names_the_setting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path) as gateway:
        with pytest.raises(InvalidStatus, match="403"):
            async with knocking(gateway, {"X-Forwarded-For": "10.0.0.9"}):
                pass
    (told,) = [one.getMessage() for one in caplog.records if one.name == "roost.server.strangers"]
    assert told.startswith("turned away: PROXY_NOT_TRUSTED from 127.0.0.1;")
    assert "`gateway.trustedProxies`" in told


@pytest.mark.requirement("P29")
async def test_every_step_of_a_device_is_written_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    device = Device()
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        for method in ("device.pair.reject", "device.pair.approve"):
            asked = (await device.knock(gateway))["error"]["details"]["requestId"]
            await caller.call(method, {"requestId": asked})
        async with knocking(gateway) as inside:
            token = (await device.ask(inside))["payload"]["auth"]["deviceToken"]
            await caller.call("device.token.rotate", {"deviceId": device.id})
            assert await inside.ended() == (1008, "credential revoked")
        await caller.call("device.token.revoke", {"deviceId": device.id})
        await caller.call("device.pair.remove", {"deviceId": device.id})
        asked = (await device.knock(gateway))["error"]["details"]["requestId"]
        (pending,) = (await caller.call("device.pair.list"))["payload"]["pending"]
        assert (await device.knock(gateway, bootstrapToken=pending["code"]))["ok"]
    told = [one.getMessage() for one in caplog.records if f"device {device.id}" in one.getMessage()]
    assert told == [
        f"device {device.id} asks to be paired, as operator",
        f"device {device.id} was rejected by owner",
        f"device {device.id} asks to be paired, as operator",
        f"device {device.id} was approved by owner",
        f"device {device.id} was given another token by owner",
        f"the connection of owner on device {device.id} was cut: credential revoked",
        f"device {device.id} was deprived of its token by owner",
        f"device {device.id} was removed by owner",
        f"device {device.id} asks to be paired, as operator",
        f"device {device.id} was paired by its code, as operator",
    ]
    assert token not in caplog.text
    assert pending["code"] not in caplog.text
