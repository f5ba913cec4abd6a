"""A gateway within this process."""

from pathlib import Path

import anyio
import pytest

import roost
from roost.client import Answer, Refused
from roost.config import load
from roost.core.errors import LeaseHeld
from roost.protocol.families.sessions import LIST, SUBSCRIBE


async def test_a_turn_is_said_followed_and_found_again(tmp_path: Path) -> None:
    home = {"ROOST_HOME": str(tmp_path)}
    with anyio.fail_after(60):
        async with roost.open(home) as client:
            pieces = [piece async for piece in client.chat("what is a session?")]
            assert isinstance(pieces[-1], Answer)
            assert "one conversation" in (pieces[-1].text or "")
            with pytest.raises(LeaseHeld):
                async with roost.open(load(home)):
                    pass
        async with roost.open(home) as client:
            (row,) = (await client.call(LIST))["sessions"]
            assert row["key"] == client.hello.main_key


async def test_changes_are_heard(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with roost.open({"ROOST_HOME": str(tmp_path)}) as client:
            await client.call(SUBSCRIBE)
            with client.events() as heard:
                await client.call("sessions.create", {"key": "other"})
                event = await anext(aiter(heard))
    assert getattr(event, "name", "") == "sessions.changed"


async def test_what_goes_wrong_in_the_block_leaves_it_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    with pytest.raises(Refused, match="unknown method"):
        async with roost.open() as client:
            await client.call("nobody.knows")
