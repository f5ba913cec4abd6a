"""What an agent starts in its shell is not a person: it says nothing in the owner's name, whatever it finds there."""

import json
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from roost.app.serving import Served
from roost.core.messages import ToolCall
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import CallTool, Say
from tests.e2e.edges import owner, secret_of
from tests.e2e.test_gateway import served

BY_CLIENT = """
import anyio, roost
async def main():
    async with roost.Client({url!r}, token={token!r}) as client:
        print(len((await client.call("sessions.list"))["sessions"]), "seen")
        await client.ask("said by a program")
anyio.run(main)
"""


@dataclass(frozen=True)
class Shell:
    gateway: Served
    home: Path
    model: FakeOpenAI

    async def runs(self, command: str) -> str:
        """What an agent is told of a command that its owner had it run."""
        call = ToolCall(id="c1", name="exec", arguments={"command": command})
        self.model.add(reply_of((CallTool(call),)), reply_of((Say("done"),)))
        async with owner(self.gateway) as caller:
            sent = {"sessionKey": "main", "message": "run it", "idempotencyKey": command}
            assert (await caller.call("chat.send", sent))["ok"]
            await caller.event("chat", state="final")
        messages = self.model.requests[-1].body["messages"]
        assert isinstance(messages, list)
        return str(messages[-1])

    async def said(self) -> list[str]:
        async with owner(self.gateway) as caller:
            history = await caller.call("chat.history", {"sessionKey": "main"})
            return [str(one["content"]) for one in history["payload"]["messages"] if one["role"] == "user"]


@asynccontextmanager
async def shells(home: Path) -> AsyncIterator[Shell]:
    async with FakeOpenAI() as model:
        provider = {"baseUrl": model.base_url, "models": [{"id": "small", "contextWindow": 32_000}]}
        document = {
            "models": {"providers": {"local": provider}},
            "agents": {"defaults": {"model": "local/small", "workspace": str(home / "workspace")}},
        }
        (home / "roost.json").write_text(json.dumps(document))
        async with served(home) as gateway:
            yield Shell(gateway, home, model)


@pytest.mark.requirement("P16")
@pytest.mark.parametrize(
    "asked",
    [
        "agent -m 'said by a program'",
        "agent -m 'said by a program' --url {url} --token {token}",
        'gateway call chat.send --params \'{{"sessionKey":"main","message":"x","idempotencyKey":"k"}}\'',
        'gateway call sessions.reset --params \'{{"key":"main"}}\'',
        "gateway drain",
        "config set session.dmScope main",
        "onboard --yes",
    ],
)
async def test_no_command_in_an_agents_shell_does_what_only_a_person_may(tmp_path: Path, asked: str) -> None:
    async with shells(tmp_path) as shell:
        roost = Path(sys.executable).parent / "roost"
        arguments = asked.format(url=shell.gateway.url, token=secret_of(shell.gateway))
        before = (tmp_path / "roost.json").read_text()
        told = await shell.runs(f"ROOST_HOME={shlex.quote(str(tmp_path))} {roost} {arguments}")
        assert "an agent starts with `exec`" in told
        assert "exit status 1" in told
        assert await shell.said() == ["run it"]
        assert (tmp_path / "roost.json").read_text() == before


@pytest.mark.requirement("P16")
async def test_a_program_that_an_agent_starts_reads_and_says_nothing(tmp_path: Path) -> None:
    async with shells(tmp_path) as shell:
        text = BY_CLIENT.format(url=shell.gateway.url, token=secret_of(shell.gateway))
        # What the agent may not write into a command lies in a file.
        (tmp_path / "asks.py").write_text(text)
        told = await shell.runs(f"{sys.executable} {tmp_path / 'asks.py'}")
        assert "1 seen" in told
        assert "an agent starts with `exec`" in told
        assert await shell.said() == ["run it"]
