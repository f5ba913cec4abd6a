"""A gateway on a real port, and clients that find it there."""

import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from roost.app.serving import Served, open_gateway
from roost.clock import SystemClock
from roost.config import load
from roost.config.gateway import Bind
from roost.core.errors import ConfigInvalid, RoostError
from roost.core.leases import Gateway
from roost.server.listening import bind
from roost.stores.sqlite import SqliteStore

CONNECT = {
    "minProtocol": 4,
    "maxProtocol": 4,
    "client": {"id": "cli", "version": "1", "platform": "linux", "mode": "cli"},
    "scopes": ["operator.admin", "operator.read", "operator.write"],
}


@asynccontextmanager
async def served(
    home: Path, port: int = 0, address: Bind | None = None, **environ: str
) -> AsyncIterator[Served]:
    with anyio.fail_after(120):
        async with open_gateway(
            load({"ROOST_HOME": str(home), **environ}),
            version="1",
            tell=list[RoostError]().append,
            port=port,
            address=address,
        ) as found:
            yield found


class Caller:
    """The least client there can be."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._asked = 0
        self.events: list[dict[str, Any]] = []

    async def frame(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await self._socket.recv())
        return found

    async def call(self, method: str, params: object = None) -> dict[str, Any]:
        """The answer; what is told meanwhile is kept."""
        self._asked += 1
        asked = {"type": "req", "id": str(self._asked), "method": method, "params": params or {}}
        await self._socket.send(json.dumps(asked))
        while (frame := await self.frame()).get("id") != str(self._asked):
            self.events.append(frame)
        return frame

    async def event(self, name: str, **payload: object) -> dict[str, Any]:
        while True:
            for event in self.events:
                if event.get("event") == name and payload.items() <= event["payload"].items():
                    found: dict[str, Any] = event["payload"]
                    return found
            self.events.append(await self.frame())


@asynccontextmanager
async def calling(gateway: Served, token: str | None = None) -> AsyncIterator[Caller]:
    """A client that is in."""
    async with connect(gateway.url, compression=None, max_size=None) as socket:
        caller = Caller(socket)
        assert (await caller.frame())["event"] == "connect.challenge"
        file = gateway.token_file
        secret = token or (file.read_text().strip() if file else "")
        hello = await caller.call("connect", {**CONNECT, "auth": {"token": secret}})
        assert hello["ok"], hello
        assert hello["payload"]["type"] == "hello-ok"
        yield caller


async def test_a_client_comes_in_and_asks_how_things_stand(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, calling(gateway) as caller:
        assert (await caller.call("health"))["payload"]["ok"] is True
        assert (await caller.call("status"))["payload"]["runtimeVersion"] == "1"
        assert (await caller.call("sessions.list"))["payload"]["sessions"] == []


@pytest.mark.requirement("D15")
async def test_a_turn_over_the_port_is_streamed_and_kept(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, calling(gateway) as caller, calling(gateway) as other:
        sent = {"sessionKey": "main", "message": "what is a session?", "idempotencyKey": "run-1"}
        assert (await caller.call("chat.send", sent))["payload"]["runId"] == "run-1"
        for client in (caller, other):
            final = await client.event("chat", state="final")
            assert "one conversation" in final["message"]["content"][0]["text"]
        history = (await caller.call("chat.history", {"sessionKey": "main"}))["payload"]
        assert [row["role"] for row in history["messages"]] == ["user", "assistant"]
    async with served(tmp_path) as gateway, calling(gateway) as later:
        waited = (await later.call("agent.wait", {"runId": "run-1"}))["payload"]
        assert waited["status"] == "ok"


async def test_the_token_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "gateway.token"
    async with served(tmp_path) as gateway:
        assert gateway.token_file == file
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = file.read_text()
    async with served(tmp_path) as gateway, calling(gateway):
        assert file.read_text() == token
    file.chmod(0o644)
    with pytest.raises(ConfigInvalid, match="chmod 600"):
        async with served(tmp_path):
            pass
    file.chmod(0o600)
    file.write_text("\n")
    with pytest.raises(ConfigInvalid, match="is empty"):
        async with served(tmp_path):
            pass


@pytest.mark.parametrize(
    ("auth", "token"),
    [
        ('{ token: "configured-token" }', "configured-token"),
        ('{ mode: "password", password: "open sesame" }', "open sesame"),
    ],
)
async def test_a_configured_credential_is_the_only_one(tmp_path: Path, auth: str, token: str) -> None:
    (tmp_path / "roost.json").write_text(f"{{ gateway: {{ auth: {auth} }} }}")
    async with served(tmp_path) as gateway, calling(gateway, token):
        assert gateway.token_file is None
        assert not (tmp_path / "gateway.token").exists()


async def test_without_auth_whoever_reaches_the_port_is_in(tmp_path: Path) -> None:
    (tmp_path / "roost.json").write_text('{ gateway: { auth: { mode: "none" }, bind: "::1" } }')
    async with served(tmp_path) as gateway, calling(gateway, "anything"):
        assert gateway.url.startswith("ws://[::1]:")


async def test_a_wrong_token_is_told_and_the_door_closed(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, connect(gateway.url) as socket:
        caller = Caller(socket)
        await caller.frame()
        answer = await caller.call("connect", {**CONNECT, "auth": {"token": "wrong"}})
        assert answer["error"]["details"]["code"] == "AUTH_TOKEN_MISMATCH"
        with pytest.raises(ConnectionClosed):
            await caller.frame()
        assert socket.close_code == 1008


async def test_who_speaks_no_json_or_too_much_is_not_let_in(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        for first, code in (("hello", 1000), (b"x" * 70_000, 1009)):
            async with connect(gateway.url) as socket:
                await socket.recv()
                await socket.send(first)
                with pytest.raises(ConnectionClosed):
                    await socket.recv()
                assert socket.close_code == code


async def test_a_gateway_that_stops_says_goodbye(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        socket = await connect(gateway.url)
        caller = Caller(socket)
        await caller.frame()
        secret = (tmp_path / "gateway.token").read_text().strip()
        await caller.call("connect", {**CONNECT, "auth": {"token": secret}})
    assert (await caller.event("shutdown"))["reason"] == "gateway stopping"
    with pytest.raises(ConnectionClosed):
        await caller.frame()
    assert (socket.close_code, socket.close_reason) == (1012, "service restart")


async def test_pages_say_whether_the_gateway_lives(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as gateway,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{gateway.port}") as http,
    ):
        assert (await http.get("/healthz")).json() == {"ok": True, "status": "live"}
        assert (await http.get("/readyz")).json()["ready"] is True
        assert (await http.get("/startupz")).json()["version"] == "1"
        assert (await http.post("/healthz")).status_code == 405
        assert (await http.get("/nothing")).status_code == 404
        assert (await http.head("/health")).status_code == 200


async def test_while_another_gateway_has_the_store_clients_are_told_to_come_again(tmp_path: Path) -> None:
    store, waiting, there = (
        SqliteStore.open(tmp_path / "roost.db", SystemClock()),
        anyio.Event(),
        anyio.Event(),
    )
    lease = await store.acquire_lease(Gateway(name="other", holder="process 1"))
    with bind("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    (tmp_path / "roost.json").write_text(f"{{ gateway: {{ port: {port} }} }}")

    def told(error: RoostError) -> None:
        assert "process 1" in str(error)
        waiting.set()

    async def start() -> None:
        async with open_gateway(load({"ROOST_HOME": str(tmp_path)}), version="1", tell=told):
            there.set()

    try:
        with anyio.fail_after(120):
            async with anyio.create_task_group() as group:
                group.start_soon(start)
                await waiting.wait()
                await _knock(port)
                await store.release_lease(lease)
                await there.wait()
    finally:
        await store.close()


async def _knock(port: int) -> None:
    """At a gateway that has not started."""
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        assert (await http.get("/startupz")).status_code == 503
        assert (await http.get("/readyz")).json()["failing"] == ["starting"]
    async with connect(f"ws://127.0.0.1:{port}") as socket:
        caller = Caller(socket)
        await caller.frame()
        answer = await caller.call("connect", {**CONNECT, "auth": {"token": "any"}})
        assert answer["error"]["retryAfterMs"] == 500
        with pytest.raises(ConnectionClosed):
            await caller.frame()
        assert socket.close_code == 1013


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        (tmp_path / "second").mkdir()
        with pytest.raises(ConfigInvalid, match="is taken"):
            async with served(tmp_path / "second", gateway.port):
                pass
    (tmp_path / "roost.json").write_text(
        '{ gateway: { bind: "192.0.2.1", dangerouslyAllowClearText: true } }'
    )
    with pytest.raises(ConfigInvalid, match="cannot listen"):
        async with served(tmp_path):
            pass


@pytest.mark.requirement("D27")
async def test_a_client_is_told_in_its_chat_how_a_child_ended(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, calling(gateway) as caller:
        sent = {"sessionKey": "main", "message": "spawn a helper to count to 5", "idempotencyKey": "run-1"}
        assert (await caller.call("chat.send", sent))["ok"]
        await caller.event("chat", runId="run-1", state="final")
        history = {"sessionKey": "main", "limit": 20}
        while not (told := [one for one in caller.events if _is_announcement(one)]):
            caller.events.append(await caller.frame())
        text = told[0]["payload"]["message"]["content"][0]["text"]
        assert text.startswith("Status: success")
        kept = (await caller.call("chat.history", history))["payload"]["messages"]
        assert text in [row["content"] for row in kept]


def _is_announcement(frame: dict[str, Any]) -> bool:
    payload = frame.get("payload", {})
    return (
        frame.get("event") == "chat"
        and payload["sessionKey"] == "agent:main:main"
        and payload["runId"] != "run-1"
    )
