"""Attacks on a gateway over its port: paths for names, fields of the gateway's own, other gateways, and secrets."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import fields
from itertools import product
from pathlib import Path
from urllib.parse import quote

import anyio
import httpx2
import pytest
from anyio.abc import SocketAttribute, SocketStream

from roost.app.serving import Served
from roost.core.addressed import Addressed
from roost.core.figures import LONGEST_SAID
from roost.core.grants import Role
from roost.core.inbound import Inbound
from roost.core.runs import Request, Run
from roost.core.sessions import Session
from roost.protocol.methods import METHODS
from roost.server.auth import Admitted
from tests.e2e.edges import ALL, Knocking, configured, knocking, owner, secret_of
from tests.e2e.test_gateway import served
from tests.flows.wiredoors import RPC_DOORS
from tests.opening import Opened, in_own_process
from tests.scale import count, examples

UP = (
    "..",
    "../..",
    "../../../../../../etc",
    "..\\..",
    "....//....//etc",
    "~",
    "/",
    "/etc",
    "C:\\",
    "\\\\host\\share",
    "file:///etc",
)
WHAT = ("passwd", "roost.json", "gateway.token", "roost.db", "x\x00y", "*", ".", "CON", "a" * 300, "‥/x")
DRESSED: tuple[Callable[[str], str], ...] = (
    str,
    quote,
    lambda text: quote(text, safe=""),
    lambda text: quote(quote(text, safe=""), safe=""),
    str.upper,
)
PATHS = [dress(f"{up}/{what}") for up, what, dress in product(UP, WHAT, DRESSED)]


@asynccontextmanager
async def browsing(port: int, token: str) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {
        "Authorization": f"Bearer {token}",
        "x-openclaw-scopes": "operator.write operator.tools.sessions",
    }
    url = f"http://127.0.0.1:{port}"
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60) as http:
        yield http


async def ask_for_paths(tmp_path: Path) -> None:
    opened = Opened()
    home = tmp_path / "home"
    home.mkdir()
    chosen = PATHS[:: len(PATHS) // examples(40, 500)]
    async with served(home) as gateway, owner(gateway) as caller:
        before = os.listdir(tmp_path)
        async with browsing(gateway.port, secret_of(gateway)) as http:
            with opened.during() as seen:
                for path in chosen:
                    refused = await caller.call("sessions.resolve", {"sessionId": path})
                    assert "is no session id" in refused["error"]["message"], path
                    unknown = await caller.call("chat.history", {"sessionKey": "main", "agentId": path})
                    assert not unknown["ok"], path
                    for params in ({"sessionKey": path}, {"sessionKey": "main", "sessionId": path}):
                        await caller.call("chat.history", params)
                    await caller.call("sessions.describe", {"key": path})
                    invoked = {"tool": "session_status", "args": {"sessionKey": path}, "sessionKey": "main"}
                    assert (await http.post("/tools/invoke", json=invoked)).status_code in (200, 400, 404)
                    read = {"tool": "read", "args": {"path": path}}
                    assert (await http.post("/tools/invoke", json=read)).status_code in (400, 404)
        assert os.listdir(tmp_path) == before
    # The workspace is walked part by part: a name there is one of its files.
    outside = [one for _, one in seen if one == ".." or "../" in one or one.startswith("/etc")]
    assert outside == []


def names_are_no_paths(tmp_path: Path) -> None:
    asyncio.run(ask_for_paths(tmp_path))


@pytest.mark.requirement("S8")
def test_no_name_is_a_path(tmp_path: Path) -> None:
    """Whatever is made of it, it opens no file, and as an id it is none."""
    in_own_process(names_are_no_paths, tmp_path)


INTERNAL = sorted(
    {field.name for kind in (Addressed, Request, Run, Admitted, Inbound) for field in fields(kind)}
    | set(Session._fields)
    | {
        "approved",
        "admin",
        "rules_all",
        "owner",
        "tenant",
        "local",
        "by_owner",
        "toolResults",
        "history",
        "entries",
    }
)


EVERY = count(4, 1)
HOOK = "hook-token-0123456789-abc"


@pytest.mark.requirement("S22", "S23")
async def test_no_method_takes_a_field_of_the_gateways_own(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        for number, (method, kind) in enumerate(METHODS.items()):
            # Those of another role are refused to this one before anything is read of them.
            code = "INVALID_REQUEST" if kind.role is Role.OPERATOR else "FORBIDDEN"
            known = {field.alias for field in kind.params.model_fields.values()}
            for name in INTERNAL[number % EVERY :: EVERY]:
                spelt = {
                    name,
                    "".join(part.title() if at else part for at, part in enumerate(name.split("_"))),
                }
                for field in spelt - known:
                    answer = await caller.call(method, {field: True})
                    assert not answer["ok"], (method, field)
                    assert answer["error"]["code"] == code
        async with browsing(gateway.port, secret_of(gateway)) as http:
            for field in INTERNAL:
                if field not in ("tool", "name", "args", "action"):
                    body = {"tool": "session_status", field: True}
                    assert (await http.post("/tools/invoke", json=body)).status_code == 400, field


@pytest.mark.requirement("S23")
async def test_what_is_too_long_leaves_nothing_behind_through_any_door(tmp_path: Path) -> None:
    home = configured(tmp_path, {"http": {"endpoints": {"chatCompletions": {"enabled": True}}}})
    flood = "x" * (LONGEST_SAID + 1)
    async with served(home) as gateway, owner(gateway) as caller:
        for method, params in (
            ("chat.send", {"sessionKey": "flood", "message": flood, "idempotencyKey": "a"}),
            ("agent", {"sessionKey": "flood", "message": flood, "idempotencyKey": "b"}),
            ("sessions.send", {"key": "flood", "message": flood, "idempotencyKey": "c"}),
            ("sessions.create", {"key": "flood", "message": flood}),
        ):
            answer = await caller.call(method, params)
            assert answer["error"]["code"] == "INVALID_REQUEST", method
        async with browsing(gateway.port, secret_of(gateway)) as http:
            body = {"model": "openclaw/main", "messages": [{"role": "user", "content": flood}]}
            assert (await http.post("/v1/chat/completions", json=body)).status_code == 400
        listed = await caller.call("sessions.list", {})
        assert listed["payload"]["sessions"] == []


@pytest.mark.requirement("S23")
async def test_there_is_room_for_so_many_sessions_and_no_more_through_any_door(tmp_path: Path) -> None:
    most = 20
    hooks = {"enabled": True, "token": HOOK}
    http = {"endpoints": {"chatCompletions": {"enabled": True}}}
    document = {
        "session": {"maintenance": {"maxSessions": most}},
        "gateway": {"http": http},
        "hooks": hooks,
    }
    (tmp_path / "roost.json").write_text(json.dumps(document))
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        made = [
            await caller.call("sessions.create", {"key": f"flood-{number}"}) for number in range(most * 2)
        ]
        assert [one["ok"] for one in made] == [True] * most + [False] * most
        for method, params in (
            ("sessions.create", {"key": "more"}),
            ("sessions.patch", {"key": "more", "pinned": True}),
            ("chat.send", {"sessionKey": "more", "message": "hi", "idempotencyKey": "a"}),
            ("agent", {"sessionKey": "more", "message": "hi", "idempotencyKey": "b"}),
            ("sessions.send", {"key": "more", "message": "hi", "idempotencyKey": "c"}),
        ):
            error = (await caller.call(method, params))["error"]
            assert error["details"]["code"] == "full", method
            assert "session.maintenance.maxSessions" in error["message"]
        async with browsing(gateway.port, secret_of(gateway)) as browser:
            body = {"model": "openclaw/main", "messages": [{"role": "user", "content": "hi"}]}
            assert (await browser.post("/v1/chat/completions", json=body)).status_code == 503
            called = await browser.post(
                "/hooks/agent", json={"message": "hi"}, headers={"Authorization": f"Bearer {HOOK}"}
            )
            assert called.status_code == 503
        listed = await caller.call("sessions.list", {"limit": 100})
        assert len(listed["payload"]["sessions"]) == most
        # What is there goes on.
        said = {"sessionKey": "flood-0", "message": "hi", "idempotencyKey": "d"}
        assert (await caller.call("chat.send", said))["ok"]


@pytest.mark.requirement("S23")
async def test_a_session_grows_so_long_and_then_starts_afresh(tmp_path: Path) -> None:
    (tmp_path / "roost.json").write_text('{"session": {"maintenance": {"maxSessionEntries": 4}}}')
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        for name in ("a", "b"):
            said = {"sessionKey": "long", "message": "hi", "idempotencyKey": name}
            assert (await caller.call("agent", said))["payload"]["status"] == "accepted"
            assert (await caller.call("agent.wait", {"runId": name, "timeoutMs": 60_000}))["ok"]
        for method, params in (
            ("chat.send", {"sessionKey": "long", "message": "hi", "idempotencyKey": "c"}),
            ("chat.inject", {"sessionKey": "long", "message": "hi"}),
        ):
            error = (await caller.call(method, params))["error"]
            assert error["details"]["code"] == "full", method
            assert "/new" in error["message"]
        assert (await caller.call("sessions.reset", {"key": "long"}))["ok"]
        afresh = {"sessionKey": "long", "message": "hi", "idempotencyKey": "e"}
        assert (await caller.call("chat.send", afresh))["ok"]


@pytest.mark.requirement("S13")
async def test_no_parameter_of_a_tool_makes_the_gateway_call_another(tmp_path: Path) -> None:
    called: list[object] = []

    async def hear(stream: SocketStream) -> None:
        called.append(stream)
        await stream.aclose()

    listening = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listening, anyio.create_task_group() as group, served(tmp_path) as gateway:
        group.start_soon(listening.serve, hear)
        other = f"127.0.0.1:{listening.extra(SocketAttribute.local_port)}"
        async with browsing(gateway.port, secret_of(gateway)) as http:
            for tool, name in product(
                (
                    "sessions_list",
                    "sessions_history",
                    "session_status",
                    "sessions_search",
                    "agents_list",
                    "read",
                    "list",
                ),
                ("gatewayUrl", "gateway", "url", "host", "server", "remote"),
            ):
                args = {
                    name: f"ws://{other}",
                    "gatewayToken": "x",
                    "sessionKey": "main",
                    "query": "x",
                    "path": ".",
                }
                answer = await http.post("/tools/invoke", json={"tool": tool, "args": args})
                assert (answer.status_code, answer.json()["ok"]) in ((400, False), (200, True))
        async with owner(gateway) as caller:
            for method in METHODS:
                assert not (await caller.call(method, {"gatewayUrl": f"ws://{other}"}))["ok"]
        group.cancel_scope.cancel()
    assert called == []


PLANTED = {
    "gateway": "planted-gateway-secret-0123456789",
    "provider": "sk-planted-provider-key-0123456789",
}


@pytest.mark.requirement("S24", "P24")
async def test_no_planted_secret_shows_in_any_answer_event_or_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    document = {
        "gateway": {
            "auth": {"mode": "token", "token": PLANTED["gateway"]},
            "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
        },
        "models": {
            "providers": {
                "fake": {
                    "baseUrl": "http://127.0.0.1:9/v1",
                    "apiKey": PLANTED["provider"],
                    "api": "openai-completions",
                    "models": [{"id": "m", "name": "M", "contextWindow": 1000, "maxTokens": 100}],
                }
            }
        },
    }
    (tmp_path / "roost.json").write_text(json.dumps(document))
    told: list[str] = []
    async with (
        served(tmp_path) as gateway,
        browsing(gateway.port, PLANTED["gateway"]) as http,
        _owner(gateway) as caller,
    ):
        said = f"keep these: {' '.join(PLANTED.values())}"
        sent = {"sessionKey": "main", "message": said, "idempotencyKey": "r"}
        await caller.call("sessions.messages.subscribe", {"key": "main"})
        told.append(json.dumps(await caller.call("chat.send", sent)))
        await caller.event("chat", state="final")
        wrong = {"sessionKey": "agent:main:w", "message": "hi", "idempotencyKey": "w"}
        await caller.call("sessions.create", {"key": "agent:main:w", "model": "fake/m"})
        told.append(json.dumps(await caller.call("agent", wrong)))
        asked: list[tuple[str, dict[str, object]]] = [(method, {}) for method in METHODS]
        asked += [(door.method, door.params("main")) for door in RPC_DOORS]
        told += [json.dumps(await caller.call(method, params)) for method, params in asked]
        told += [json.dumps(event) for event in caller.events]
        told += [(await http.get(path)).text for path in ("/metrics", "/v1/models", "/readyz")]
        read = {"tool": "sessions_history", "args": {"sessionKey": "main", "includeTools": True}}
        told.append((await http.post("/tools/invoke", json=read)).text)
    told.append(caplog.text)
    assert any("keep these" in one for one in told)
    for name, secret in PLANTED.items():
        assert [one[:300] for one in told if secret in one] == [], name


@asynccontextmanager
async def _owner(gateway: Served) -> AsyncIterator[Knocking]:
    async with knocking(gateway) as caller:
        assert (await caller.ask(scopes=ALL, auth={"token": PLANTED["gateway"]}))["ok"]
        yield caller
