"""Configured secrets, and whether anything that a gateway says or writes shows one."""

import base64
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import anyio
import httpx2
import pytest

from roost.client import Client, TurnFailed
from roost.client.errors import Refused
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.own import EXPORT
from roost.protocol.methods import METHODS
from roost.protocol.scopes import Scope
from tests.credentials import mixed
from tests.e2e.test_gateway import served

TOKEN, KEY, HEADER, HOOK, PASSWORD = (
    f"{name}-{mixed(24)}" for name in ("tok", "key", "head", "hook", "pass")
)
PLANTED = (TOKEN, KEY, HEADER, HOOK, PASSWORD)
CONFIG: JsonObject = {
    "gateway": {"auth": {"token": TOKEN, "password": PASSWORD}},
    "hooks": {"enabled": True, "token": HOOK},
    "models": {
        "providers": {
            "local": {
                "baseUrl": "http://127.0.0.1:1/v1",
                "apiKey": KEY,
                "headers": {"X-Key": HEADER},
                "models": [{"id": "small"}],
            }
        }
    },
    "logging": {"level": "debug", "consoleLevel": "debug"},
    "session": {"mirror": "mirror"},
}
SAID = f"the secrets are {' and '.join(PLANTED)}"


def shown(text: str) -> list[str]:
    return [one for one in PLANTED if one in text]


def stored_in(home: Path) -> str:
    return b"".join(file.read_bytes() for file in home.glob("*.db*")).decode("utf-8", "replace")


async def listen(client: Client, told: list[str]) -> None:
    with client.events() as events:
        async for one in events:
            told.append(repr(one))  # noqa: PERF401 — read while it grows


async def answer(client: Client, method: str, params: JsonObject) -> str:
    """Whatever comes back, refusals whole."""
    try:
        return json.dumps(await client.call(method, params))
    except Refused as error:
        return json.dumps([str(error), error.details, error.payload])


def asked() -> Iterator[tuple[str, JsonObject]]:
    main: dict[str, JsonValue] = {"sessionKey": "main"}
    # Those that only read come first: what the others leave is less.
    for name in sorted(METHODS, key=lambda name: METHODS[name].needs not in (None, Scope.READ)):
        yield name, {}
        yield name, {"key": "main"}
        yield name, main
        yield name, {"nobodyKnowsThis": KEY}
    yield "sessions.search", {"query": "secrets"}
    yield "roost.search", {"query": "secrets"}
    yield "sessions.list", {"includeDerivedTitles": True, "includeLastMessage": True}
    yield "config.get", {}


@pytest.mark.requirement("S24", "P24")
async def test_nothing_that_a_gateway_says_or_writes_shows_a_configured_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "roost.json").write_text(json.dumps(CONFIG))
    terminal = StringIO()
    monkeypatch.setattr("sys.stderr", terminal)
    heard: dict[str, str] = {}
    async with served(tmp_path) as gateway, Client(gateway.url, token=TOKEN) as client:
        told: list[str] = []
        async with anyio.create_task_group() as group:
            group.start_soon(listen, client, told)
            await anyio.wait_all_tasks_blocked()
            await client.call("sessions.subscribe", {})
            await client.call("sessions.messages.subscribe", {"key": "main"})
            await client.ask(SAID)
            with pytest.raises(TurnFailed) as failed:
                await client.ask(f"/model local/small\n{SAID}", "other")
            heard["a turn that failed"] = str(failed.value)
            heard["an export"] = await client.ask("/export-session")
            for raw in (False, True):
                piece = await client.call(EXPORT, {"key": "main", "raw": raw})
                heard[f"a piece of an export, raw: {raw}"] = base64.b64decode(piece["data"]).decode()
            for number, (method, params) in enumerate(asked()):
                heard[f"{number} {method} {sorted(params)}"] = await answer(client, method, params)
            group.cancel_scope.cancel()
        assert told
        heard["events"] = "\n".join(told)
        address = f"http://127.0.0.1:{gateway.port}"
        async with httpx2.AsyncClient(base_url=address, headers={"Authorization": f"Bearer {TOKEN}"}) as web:
            for page in ("/healthz", "/readyz", "/metrics", "/v1/models", "/nowhere", f"/{KEY}"):
                found = await web.get(page)
                heard[f"GET {page.replace(KEY, '…')}"] = f"{found.headers} {found.text}"
            heard["a tool"] = (await web.post("/tools/invoke", json={"tool": KEY})).text
    heard["error output"] = terminal.getvalue()
    heard["the store"] = stored_in(tmp_path)
    for folder in ("logs", "exports", "mirror"):
        files = [file for file in (tmp_path / folder).rglob("*") if file.is_file()]
        assert files, folder
        heard |= {str(file): file.read_text() for file in files}
    assert {where: shown(text) for where, text in heard.items() if shown(text)} == {}
