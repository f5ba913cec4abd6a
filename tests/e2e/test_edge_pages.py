"""Strangers at a gateway's port: pages of others, names that were made up, proxies, clear text."""

import ssl
from pathlib import Path

import anyio
import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus, WebSocketException

from roost.app.serving import Served
from roost.config.gateway import Bind
from roost.core.errors import ConfigInvalid
from tests.certificates import certificate
from tests.e2e.edges import CLIENT, configured, knocking, refused, secret_of
from tests.e2e.test_gateway import CONNECT, Caller, served

FORWARDED = [{"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}, {"X-Real-IP": "127.0.0.1"}]


@pytest.mark.requirement("S2")
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example", "file://"]
)
@pytest.mark.parametrize("mode", ["cli", "backend", "webchat"])
async def test_a_foreign_page_is_refused_with_the_secret_too_whatever_it_says_it_is(
    tmp_path: Path, origin: str, mode: str
) -> None:
    async with served(tmp_path) as gateway:
        client = {**CLIENT, "mode": mode}
        auth = {"token": secret_of(gateway)}
        assert await refused(gateway, {"Origin": origin}, auth=auth, client=client) == (
            "CONTROL_UI_ORIGIN_NOT_ALLOWED"
        )


async def test_a_page_of_this_machine_and_a_listed_one_may_connect(tmp_path: Path) -> None:
    home = configured(tmp_path, {"controlUi": {"allowedOrigins": ["https://home.example"]}})
    async with served(home) as gateway:
        for origin in ("http://localhost:5173", f"http://127.0.0.1:{gateway.port}", "https://home.example"):
            async with knocking(gateway, {"Origin": origin}) as caller:
                assert (await caller.ask(auth={"token": secret_of(gateway)}))["ok"], origin


@pytest.mark.requirement("S2")
async def test_a_name_that_was_pointed_here_reaches_nothing(tmp_path: Path) -> None:
    home = configured(tmp_path, {"allowedHosts": ["box.lan"]})
    async with (
        served(home) as gateway,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{gateway.port}") as http,
    ):
        rebound = {"Host": f"rebound.example:{gateway.port}"}
        told = await http.get("/healthz", headers=rebound)
        assert (told.status_code, "allowedHosts" in told.text) == (403, True)
        assert (await http.get("/healthz", headers={"Host": "box.lan"})).status_code == 200
        own = {"Origin": f"http://rebound.example:{gateway.port}", **rebound}
        assert await _status(gateway, own) == 403


@pytest.mark.requirement("S2")
async def test_a_request_that_names_two_hosts_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, await anyio.connect_tcp("127.0.0.1", gateway.port) as line:
        await line.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: rebound.example\r\n\r\n")
        assert (await line.receive()).startswith(b"HTTP/1.1 400 ")


async def _status(gateway: Served, headers: dict[str, str]) -> int:
    """What an upgrade is answered with, its host header replaced by the one that is given."""
    lines = [f"{name}: {value}" for name, value in {"Host": "127.0.0.1", **headers}.items()]
    lines += ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    async with await anyio.connect_tcp("127.0.0.1", gateway.port) as stream:
        await stream.send(("GET / HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
        return int((await stream.receive()).split()[1])


@pytest.mark.requirement("S19")
@pytest.mark.parametrize("headers", FORWARDED)
async def test_through_a_proxy_that_is_not_listed_nobody_is_local(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    home = configured(tmp_path, {"auth": {"mode": "none"}})
    async with (
        served(home) as gateway,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{gateway.port}") as http,
    ):
        with pytest.raises(InvalidStatus) as caught:
            await connect(gateway.url, additional_headers=headers)
        assert caught.value.response.status_code == 403
        assert b"trustedProxies" in (caught.value.response.body or b"")
        assert (await http.get("/healthz", headers=headers)).status_code == 403


@pytest.mark.requirement("S19")
async def test_through_a_listed_proxy_a_credential_is_needed(tmp_path: Path) -> None:
    headers = FORWARDED[0]
    home = configured(tmp_path, {"auth": {"mode": "none"}, "trustedProxies": ["127.0.0.1"]})
    async with served(home) as gateway:
        assert await refused(gateway, headers) == "DEVICE_IDENTITY_REQUIRED"
    home = configured(tmp_path, {"trustedProxies": ["127.0.0.1"]})
    async with served(home) as gateway, knocking(gateway, headers) as caller:
        assert (await caller.ask(auth={"token": secret_of(gateway)}))["ok"]


@pytest.mark.requirement("S19", "S26")
async def test_beyond_loopback_a_gateway_in_clear_text_does_not_start(tmp_path: Path) -> None:
    configured(tmp_path, {"bind": "lan"})
    with pytest.raises(ConfigInvalid, match=r"gateway\.tls\.cert"):
        async with served(tmp_path):
            pass
    configured(tmp_path, {})
    with pytest.raises(ConfigInvalid, match=r"gateway\.tls\.cert"):
        async with served(tmp_path, address=Bind("lan")):
            pass
    configured(tmp_path, {"bind": "lan", "dangerouslyAllowClearText": True})
    async with served(tmp_path) as gateway:
        assert gateway.url.startswith("ws://0.0.0.0:")


@pytest.mark.requirement("S26")
async def test_with_a_certificate_clients_come_over_tls_and_no_other_way(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    home = configured(tmp_path, {"bind": "lan", "tls": {"cert": str(cert), "key": str(key)}})
    async with served(home) as gateway:
        assert gateway.url.startswith("wss://")
        url, trusting = f"//127.0.0.1:{gateway.port}", ssl.create_default_context(cafile=str(cert))
        async with connect(f"wss:{url}", ssl=trusting) as socket:
            caller = Caller(socket)
            await caller.frame()
            assert (await caller.call("connect", {**CONNECT, "auth": {"token": secret_of(gateway)}}))["ok"]
        with pytest.raises((OSError, WebSocketException)):
            await connect(f"ws:{url}")


@pytest.mark.parametrize("spoilt", ["cert", "key"])
async def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path, spoilt: str) -> None:
    cert, key = certificate(tmp_path)
    (cert if spoilt == "cert" else key).write_text("nothing")
    files = {"cert": str(cert), "key": str(key)}
    with pytest.raises(ConfigInvalid, match=r"gateway\.tls"):
        async with served(configured(tmp_path, {"tls": files})):
            pass
