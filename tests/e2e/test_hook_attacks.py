"""Attacks on webhooks over the port: floods before anybody is known, keys that a payload spells, calls that were recorded."""

import hmac
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from anyio.abc import SocketStream

from roost.app.serving import Served
from roost.clock import SystemClock
from roost.server.http.unread import MOST
from tests.e2e.edges import owner
from tests.e2e.test_gateway import served
from tests.scale import count

TOKEN, SIGNING = "hook-token-0123456789", "signing-secret-0123456789"
HOOKS = {
    "enabled": True,
    "token": TOKEN,
    "maxPerMinute": 10_000,
    "allowedSessionKeyPrefixes": ["hook:"],
    "mappings": {
        "gh": {"message": "{{repo}} broke", "sessionKey": "hook:{{repo}}", "secret": SIGNING},
        "ts": {"message": "{{repo}} broke", "secret": SIGNING, "signature": "timestamp"},
        "spelt": {"message": "x", "sessionKey": "{{key}}"},
    },
}


@asynccontextmanager
async def hooked(home: Path) -> AsyncIterator[Served]:
    (home / "roost.json").write_text(json.dumps({"hooks": HOOKS}))
    async with served(home) as gateway:
        yield gateway


def signed(body: bytes, stamp: int | None = None) -> dict[str, str]:
    text = body if stamp is None else f"{stamp}.".encode() + body
    shown = "sha256=" + hmac.new(SIGNING.encode(), text, sha256).hexdigest()
    return (
        {"X-Hub-Signature-256": shown} if stamp is None else {"X-Timestamp": str(stamp), "X-Signature": shown}
    )


async def post(gateway: Served, name: str, body: object, headers: dict[str, str]) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    url = f"http://127.0.0.1:{gateway.port}/hooks/{name}"
    async with httpx2.AsyncClient(timeout=60) as http:
        return await http.post(url, content=content, headers=headers)


BEARER = {"Authorization": f"Bearer {TOKEN}"}


async def keys(gateway: Served) -> list[str]:
    async with owner(gateway) as caller:
        listed = await caller.call("sessions.list", {"limit": 500})
        return sorted(row["key"] for row in listed["payload"]["sessions"])


async def half(gateway: Served, name: str, sockets: AsyncExitStack) -> SocketStream:
    """A call of which the body does not end."""
    stream = await sockets.enter_async_context(await anyio.connect_tcp("127.0.0.1", gateway.port))
    head = f"POST /hooks/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000\r\n\r\n"
    await stream.send(head.encode() + b"{")
    return stream


async def _status(stream: SocketStream) -> bytes:
    with anyio.fail_after(60):
        return (await stream.receive())[9:12]


async def test_hooks_lie_where_they_lay_until_a_restart_and_go_by_the_new_token_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    moved = {**HOOKS, "path": "/elsewhere", "token": "another-hook-token-0123456789"}
    new = {"Authorization": f"Bearer {moved['token']}"}
    async with hooked(tmp_path) as gateway:
        (tmp_path / "roost.json").write_text(json.dumps({"hooks": moved}))
        with anyio.fail_after(60):
            while (await post(gateway, "agent", {"message": "hi"}, new)).status_code != 200:
                await anyio.lowlevel.checkpoint()
            while "changed, and in force after a restart: hooks.path" not in caplog.text:
                await anyio.lowlevel.checkpoint()
        assert (await post(gateway, "agent", {"message": "hi"}, BEARER)).status_code in {401, 429}
    async with served(tmp_path) as gateway:
        assert (await post(gateway, "agent", {"message": "hi"}, new)).status_code == 404
        assert (await post(gateway, "../elsewhere/agent", {"message": "hi"}, new)).status_code == 200


@pytest.mark.requirement("S23")
async def test_nobody_who_shows_no_token_is_read_from(tmp_path: Path) -> None:
    async with hooked(tmp_path) as gateway, AsyncExitStack() as sockets:
        streams = [await half(gateway, "agent", sockets) for _ in range(count(300, 5_000))]
        told = {await _status(stream) for stream in streams}
        assert told == {b"401", b"429"}
        assert (await post(gateway, "agent", {"message": "hi"}, BEARER)).status_code == 200


@pytest.mark.requirement("S23")
async def test_of_bodies_that_must_be_read_to_know_their_sender_few_are_held_and_the_right_one_comes_through(
    tmp_path: Path,
) -> None:
    async with hooked(tmp_path) as gateway, AsyncExitStack() as sockets:
        streams = [await half(gateway, "gh", sockets) for _ in range(count(300, 5_000))]
        # Who waits longest makes room: of these none is held any more.
        told = {await _status(stream) for stream in streams[:-MOST]}
        assert told == {b"503"}
        body = b'{"repo":"roost"}'
        assert (await post(gateway, "gh", body, signed(body))).status_code == 200
        async with owner(gateway) as caller:
            assert (await caller.call("health"))["ok"]


@pytest.mark.requirement("S11")
@pytest.mark.parametrize(
    "key",
    ["main", "agent:main:main", "hook", "hook:x:thread:1", "telegram:direct:7", "", "{{key}}", "cron:j"],
)
async def test_no_payload_spells_its_way_into_a_session_that_is_no_hooks(tmp_path: Path, key: str) -> None:
    async with hooked(tmp_path) as gateway:
        spelt = await post(gateway, "spelt", {"key": key}, BEARER)
        asked = await post(gateway, "agent", {"message": "x", "sessionKey": key}, BEARER)
        body = json.dumps({"repo": f"../../{key}:agent:main:main"}).encode()
        await post(gateway, "gh", body, signed(body))
        assert asked.status_code in (400, 403)
        assert spelt.status_code == 400 or spelt.json()["sessionKey"].startswith("agent:main:hook:")
        assert [one for one in await keys(gateway) if not one.startswith("agent:main:hook:")] == []


@pytest.mark.requirement("S18")
async def test_what_was_recorded_of_a_hook_is_one_run_and_nobodys_word_after_a_restart_too(
    tmp_path: Path,
) -> None:
    body, delivery = b'{"repo":"roost"}', {"Idempotency-Key": "d1"}
    stamp = SystemClock().now() // 1_000
    async with hooked(tmp_path) as gateway:
        first = (await post(gateway, "agent", {"message": "it broke"}, BEARER | delivery)).json()
        timed = (await post(gateway, "ts", body, signed(body, stamp))).json()
        assert first["ok"]
        assert timed["ok"]
        known = await keys(gateway)
        heard = await _heard(gateway, first)
        assert heard["provenance"]["kind"] == "internal_system"
        assert heard["__openclaw"]["senderIsOwner"] is False
    async with hooked(tmp_path) as gateway:
        again = await post(gateway, "agent", {"message": "it broke"}, BEARER | delivery)
        assert again.json() == {**first, "duplicate": True}
        for headers, status in (
            (signed(body, stamp), 409),
            ({**signed(body, stamp), "X-Delivery-Id": "other"}, 409),
            (signed(body, stamp - 3_600), 401),
            ({**signed(body, stamp), "X-Timestamp": str(stamp + 1)}, 401),
        ):
            assert (await post(gateway, "ts", body, headers)).status_code == status
        assert await keys(gateway) == known


async def _heard(gateway: Served, told: dict[str, Any]) -> dict[str, Any]:
    """What a hook's call became in its session."""
    async with owner(gateway) as caller:
        await caller.call("agent.wait", {"runId": told["runId"], "timeoutMs": 60_000})
        history = await caller.call("chat.history", {"sessionKey": told["sessionKey"]})
        found: dict[str, Any] = history["payload"]["messages"][0]
        return found
