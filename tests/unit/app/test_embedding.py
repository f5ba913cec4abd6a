"""A gateway within this process."""

from pathlib import Path
from typing import Any

import anyio
import pytest

import roost
from roost.client import Answer, Refused
from roost.clock import SystemClock
from roost.config import load
from roost.core.errors import LeaseHeld
from roost.core.jsonvalue import JsonObject
from roost.protocol.families.cron import ADD, RUNS
from roost.protocol.families.sessions import LIST, SUBSCRIBE
from tests import postgres


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


async def test_on_a_server_two_work_side_by_side(tmp_path: Path, postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    home = {"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": postgres_server}
    with anyio.fail_after(60):
        async with roost.open(home) as one, roost.open(home) as other:
            await one.ask("what is a session?")
            (row,) = (await other.call(LIST))["sessions"]
            assert row["key"] == one.hello.main_key


async def test_clients_are_told_where_the_store_is_that_is_used(tmp_path: Path, postgres_server: str) -> None:
    server = postgres_server.replace("roost@", "roost:hunter2@")
    for database, told in (
        ({}, str(tmp_path / "roost.db")),
        ({"ROOST_DATABASE_URL": server}, "postgresql:///postgres"),
        ({"ROOST_DATABASE_URL": f"{server}&schema=told"}, "postgresql:///postgres?schema=told"),
    ):
        with anyio.fail_after(60):
            async with roost.open({"ROOST_HOME": str(tmp_path), **database}) as client:
                stand: Any = await client.call("status")
                listed = await client.call(LIST)
                changed: Any = await client.call("sessions.patch", {"key": "main", "label": None})
                jobs: Any = await client.call("cron.status")
        paths = [*stand["sessions"]["paths"], *(one["path"] for one in stand["sessions"]["byAgent"])]
        assert {*paths, listed["path"], changed["path"], jobs["storePath"]} == {told}


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


async def test_what_is_due_is_taken_up_unless_somebody_only_looks_in(tmp_path: Path) -> None:
    home, clock = {"ROOST_HOME": str(tmp_path)}, SystemClock()
    due = clock.now() + 500
    job: JsonObject = {
        "name": "tea",
        "schedule": {"kind": "at", "at": str(due)},
        "sessionTarget": "isolated",
        "wakeMode": "now",
        "payload": {"kind": "agentTurn", "message": "is it ready?"},
    }
    with anyio.fail_after(60):
        async with roost.open(home, on_time=False) as client:
            made = await client.call(ADD, job)
            while clock.now() < due + 500:
                await client.ask("what is a session?")
            assert (await client.call(RUNS, {"id": made["id"]}))["entries"] == []
        async with roost.open(home) as client:
            with client.events() as heard:
                while not (found := (await client.call(RUNS, {"id": made["id"]}))["entries"]):
                    await anext(aiter(heard))
    assert [row["jobId"] for row in found] == [made["id"]]
