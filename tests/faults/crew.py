"""Real gateways in processes of their own on one PostgreSQL server, and clients that reach them over the wire."""

import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import anyio

from roost.client import Client
from roost.core.errors import RoostError
from roost.core.jsonvalue import JsonObject
from tests import forks

TOKEN = "crew-token"
NAMES = ("ada", "ben", "cleo")
SAFETY_S = 600.0


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@dataclass
class Member:
    """One gateway, through all its processes: as a service it is started again whenever it ends. `client` is there while
    it can be reached."""

    name: str
    home: Path
    server: str
    port: int = field(default_factory=free_port)
    client: Client | None = None
    _process: BaseProcess | None = None
    _news: anyio.Event = field(default_factory=anyio.Event)

    @property
    def process(self) -> BaseProcess:
        assert self._process is not None
        return self._process

    @property
    def errors(self) -> str:
        return (self.home / "errors").read_text()

    async def serves(self) -> None:
        """Return once it can be reached."""
        with anyio.fail_after(SAFETY_S):
            while self.client is None:
                await self._news.wait()

    def kill(self) -> None:
        """At once; it cannot be reached until it has started again."""
        self.client = None
        self.process.kill()

    async def keep(self) -> None:
        while True:
            output, theirs = os.pipe()
            process = self._process = self._started(theirs)
            os.close(theirs)
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._connected, output)
                    await forks.ended(process)
                    self.client = None
                    group.cancel_scope.cancel()
            finally:
                os.close(output)

    def _started(self, output: int) -> BaseProcess:
        environment = {
            **os.environ,  # noqa: TID251 — what a process of this machine needs
            "ROOST_HOME": str(self.home),
            "ROOST_GATEWAY_TOKEN": TOKEN,
            "ROOST_DATABASE_URL": self.server,
        }
        command = ("roost", "gateway", "run", "--port", str(self.port))
        with open(os.devnull, "rb") as nothing, (self.home / "errors").open("ab") as errors:
            streams = (nothing.fileno(), output, errors.fileno())
            return forks.started(*command, streams=streams, environ=environment)

    async def _connected(self, output: int) -> None:
        said = b""
        while b" listens on " not in said:
            await anyio.wait_readable(output)
            more = os.read(output, 4_096)
            if not more:
                return
            said += more
        async with Client(f"ws://127.0.0.1:{self.port}", token=TOKEN) as client:
            self.client = client
            self._news.set()
            self._news = anyio.Event()
            await anyio.sleep_forever()

    def put_away(self) -> None:
        """At the end of a test, however far it came."""
        if self._process is not None:
            forks.signalled(self._process, signal.SIGCONT)
            self._process.kill()
            self._process.join()
        print(f"{self.name}: {self.errors}")  # noqa: T201 — shown when it fails


def configure(home: Path, model_url: str) -> None:
    """The same configuration for every gateway."""
    home.mkdir()
    provider: JsonObject = {"api": "openai-completions", "baseUrl": model_url, "models": [{"id": "small"}]}
    settings: JsonObject = {
        "agents": {"defaults": {"model": {"primary": "local/small"}}},
        "models": {"providers": {"local": provider}},
    }
    (home / "roost.json").write_text(json.dumps(settings))


@asynccontextmanager
async def crews(folder: Path, server: str, model_url: str, *names: str) -> AsyncIterator[list[Member]]:
    """Gateways that serve; whatever is left of them at the end is killed."""
    members = [Member(name, folder / name, server) for name in names]
    for member in members:
        configure(member.home, model_url)
    async with anyio.create_task_group() as group:
        try:
            for member in members:
                group.start_soon(member.keep)
            for member in members:
                await member.serves()
            yield members
        finally:
            group.cancel_scope.cancel()
            for member in members:
                member.put_away()


async def say(reach: Callable[[], Client | None], message: JsonObject, patience_s: float) -> int:
    """Hand a message to one gateway after another until one has taken it; how many were asked."""
    asked = 0
    while True:
        client = reach()
        if client is not None:
            asked += 1
            try:
                with anyio.move_on_after(patience_s):
                    await client.call("chat.send", message)
                    return asked
            except RoostError as error:
                print(f"{message['idempotencyKey']}: {error!r}")  # noqa: T201 — shown when it fails
        await anyio.sleep(0.05)
