"""Devices that ask to be let in and that are, over a gateway that runs."""

from functools import partial
from pathlib import Path

import anyio
import pytest

from roost.app.opening import open_held_store
from roost.cli.main import main
from roost.clock import SystemClock
from roost.config import load
from roost.core import devices
from roost.core.leases import Gateway
from tests.unit.cli.conftest import Told, as_json, serving
from tests.unit.core.test_devices import request


async def leave_asking(home: Path) -> None:
    held = open_held_store(load({"ROOST_HOME": str(home)}), Gateway(name="before", holder="test"))
    now = SystemClock().now()
    async with held as store:
        for name in ("d", "e"):
            await store.change_devices(partial(devices.knock, wanted=request(name, at=now)))


@pytest.mark.requirement("S2")
def test_who_asks_is_shown_with_its_code_and_decided_on(home: Path, told: Told) -> None:
    assert told("devices", code=3) == ""
    anyio.run(leave_asking, home)
    with serving(home):
        first, second = as_json(told, "devices")["pending"]
        head, *rows = told("devices").splitlines()
        assert head.split() == [
            "state",
            "request",
            "code",
            "device",
            "name",
            "role",
            "scopes",
            "from",
            "since",
        ]
        for one in (first, second):
            (row,) = (row for row in rows if one["deviceId"] in row.split())
            for shown in (one["requestId"], one["code"], one["remoteIp"], one["role"], *one["scopes"]):
                assert shown in row
        said = told("devices", "approve", first["requestId"])
        assert said.startswith(f"{first['requestId']} is let in, as operator with operator.")
        assert told("devices", "reject", second["requestId"]) == f"{second['requestId']} is sent away\n"
        assert "paired" in told("devices").splitlines()[-1]
        device = first["deviceId"]
        assert len(told("devices", "rotate", device).strip()) == 43
        assert told("devices", "revoke", device) == f"the token of {device} is void\n"
        assert "revoked" in told("devices").splitlines()[-1]
        assert told("devices", "remove", device) == f"{device} is out\n"
        assert told("devices") == "no devices\n"


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("approve", "no device waits as x (it may have run out: `roost devices` shows those that wait)"),
        ("reject", "no device waits as x (it may have run out: `roost devices` shows those that wait)"),
        ("remove", "there is no device x (`roost devices` shows those there are)"),
        ("rotate", "there is no device x (`roost devices` shows those there are)"),
        ("revoke", "there is no device x (`roost devices` shows those there are)"),
    ],
)
def test_a_device_that_is_not_there_is_told_in_the_words_of_who_typed(
    command: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", command, "x"]) == 1
    assert capsys.readouterr().err == f"roost: {said}\n"
