"""Strangers at a gateway's port: guesses, floods, silence, and secrets that were replaced."""

import itertools
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import httpx2
import pytest
from anyio.abc import ByteStream, TaskGroup
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from roost.protocol.methods import METHODS
from tests.e2e.edges import ALL, CLIENT, configured, knocking, owner, refused, secret_of
from tests.e2e.test_gateway import CONNECT, Caller, served
from tests.scale import count, examples, pairs

HEALTH_MS = 100
REVOKED_S = 1
"""For so long at most a credential may be good for anything after it was taken back."""


@pytest.mark.requirement("S2")
async def test_guesses_are_slowed_from_loopback_too_and_the_secret_is_never_locked_out(
    tmp_path: Path,
) -> None:
    home = configured(tmp_path, {"auth": {"rateLimit": {"maxAttempts": 5}}})
    async with served(home) as gateway:
        for _ in range(5):
            assert await refused(gateway, auth={"token": "guess"}) == "AUTH_TOKEN_MISMATCH"
        async with knocking(gateway) as caller:
            error = (await caller.ask(auth={"token": "guess"}))["error"]
            assert error["details"]["code"] == "AUTH_RATE_LIMITED"
            assert 0 < error["retryAfterMs"] <= 60_000
        async with owner(gateway) as caller:
            assert (await caller.call("health"))["ok"]


@pytest.mark.requirement("S2")
@pytest.mark.parametrize("same", [True, False], ids=["the same", "others"])
async def test_a_crowd_that_shows_wrong_secrets_again_and_again_keeps_nobody_out_who_has_the_right_one(
    tmp_path: Path, same: bool
) -> None:
    home = configured(tmp_path, {"auth": {"rateLimit": {"maxAttempts": 5}}})
    async with served(home) as gateway, anyio.create_task_group() as group:
        for _ in range(5):
            await refused(gateway, auth={"token": "wrong"})

        async def guess(place: int) -> None:
            for number in itertools.count():
                await refused(gateway, auth={"token": "wrong" if same else f"wrong-{place}-{number}"})

        for place in range(12):
            group.start_soon(guess, place)
        let_in = False
        while not let_in:
            async with knocking(gateway) as caller:
                answer = await caller.ask(auth={"token": secret_of(gateway)})
                let_in = answer["ok"]
                assert let_in or answer["error"]["retryable"]
        group.cancel_scope.cancel()


@pytest.mark.requirement("S3")
async def test_the_record_of_the_secret_holds_no_scope_that_was_made_up(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, knocking(gateway) as caller:
        made_up = ["operator.root", "operator.read", "node.exec", "*"]
        hello = await caller.ask(scopes=made_up, auth={"token": secret_of(gateway)})
        assert hello["payload"]["auth"]["scopes"] == ["operator.read"]
        assert (await caller.call("device.pair.list"))["error"]["code"] == "FORBIDDEN"


@pytest.mark.requirement("S5")
async def test_before_the_handshake_every_method_gets_the_same_refusal(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        answers = set()
        for method in (*METHODS, "config.apply", "no.such.method"):
            async with knocking(gateway) as caller:
                answer = await caller.call(method)
                answers.add(json.dumps(answer["error"]))
                assert await caller.ended() == (1008, "invalid handshake: first request must be connect")
        assert len(answers) == 1


@pytest.mark.requirement("S12")
@pytest.mark.parametrize("kind", ["token", "password"])
async def test_a_secret_replaced_in_the_configuration_ends_who_came_with_it(
    tmp_path: Path, kind: str
) -> None:
    home = configured(tmp_path, {"auth": {"mode": kind, kind: "the-first-secret"}})
    async with served(home) as gateway, knocking(gateway) as caller:
        assert (await caller.ask(auth={"token": "the-first-secret"}))["ok"]
        configured(home, {"auth": {"mode": kind, kind: "the-second-secret"}})
        with anyio.fail_after(REVOKED_S):
            assert await caller.ended() == (1008, "credential revoked")
        assert (await refused(gateway, auth={"token": "the-first-secret"})).endswith("_MISMATCH")
        async with knocking(gateway) as later:
            assert (await later.ask(auth={"token": "the-second-secret"}))["ok"]


def _printing(home: Path, token: str) -> Path:
    """A configuration with a credential that a program prints; the program."""
    program = home / "print-key"
    if not program.exists():
        (home / "key").write_text("sk-of-the-provider")
        program.write_text(f"#!/bin/sh\nexec cat {home}/key\n")
        program.chmod(0o755)
    provider = {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": {"command": [str(program)]}, "models": []}
    document = {
        "gateway": {"auth": {"mode": "token", "token": token}},
        "models": {"providers": {"p": provider}},
    }
    (home / "roost.json").write_text(json.dumps(document))
    return program


def _never_ends(key: Path) -> None:
    key.unlink()
    os.mkfifo(key)


@pytest.mark.requirement("S12")
@pytest.mark.parametrize("spoil", [_never_ends, Path.unlink], ids=["never ends", "fails"])
async def test_a_replaced_token_ends_in_a_second_whatever_a_program_that_prints_another_credential_does(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    program = _printing(tmp_path, "the-first-secret")
    async with (
        served(tmp_path, ROOST_PROGRAMS=str(program)) as gateway,
        knocking(gateway) as caller,
    ):
        assert (await caller.ask(auth={"token": "the-first-secret"}))["ok"]
        for before, after in (("the-first-secret", "the-second"), ("the-second", "the-third")):
            async with knocking(gateway) as inside:
                assert (await inside.ask(auth={"token": before}))["ok"]
                if (tmp_path / "key").is_file():
                    spoil(tmp_path / "key")
                _printing(tmp_path, after)
                with anyio.fail_after(REVOKED_S):
                    assert await inside.ended() == (1008, "credential revoked")
            assert await refused(gateway, auth={"token": before}) == "AUTH_TOKEN_MISMATCH"
            async with knocking(gateway) as later:
                assert (await later.ask(auth={"token": after}))["ok"]
        assert (await caller.ended())[0] == 1008


@pytest.mark.requirement("S12", "S21")
async def test_a_token_file_that_is_replaced_or_spoilt_holds_at_once(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        file = tmp_path / "gateway.token"
        before = secret_of(gateway)
        async with owner(gateway) as caller:
            new = tmp_path / "new"
            new.touch(0o600)
            new.write_text("the-second-token\n")
            os.replace(new, file)
            with anyio.fail_after(REVOKED_S):
                assert (await caller.ended())[0] == 1008
        assert await refused(gateway, auth={"token": before}) == "AUTH_TOKEN_MISMATCH"
        async with owner(gateway):
            pass
        for spoil in (lambda: file.write_text("\n"), lambda: file.chmod(0o644), file.unlink):
            spoil()
            for shown in ("the-second-token", " ", "None"):
                assert (await refused(gateway, auth={"token": shown})).endswith("_MISMATCH")


@pytest.mark.requirement("S12")
@pytest.mark.parametrize(
    "auth",
    [
        {"mode": "password", "password": "the-password"},
        {"mode": "trusted-proxy", "password": "the-password", "trustedProxy": {"allowUsers": ["ada"]}},
        {"token": "the-password"},
    ],
    ids=["password", "proxy", "token"],
)
async def test_where_another_credential_is_asked_for_the_gateways_own_token_ends_at_once(
    tmp_path: Path, auth: dict[str, object]
) -> None:
    proxies = {"trustedProxies": ["10.0.0.7"]}
    async with served(configured(tmp_path, proxies)) as gateway:
        own = secret_of(gateway)
        async with owner(gateway) as caller:
            configured(tmp_path, {**proxies, "auth": auth})
            with anyio.fail_after(REVOKED_S):
                assert await caller.ended() == (1008, "credential revoked")
        assert (await refused(gateway, auth={"token": own})).endswith("_MISMATCH")
        async with knocking(gateway) as later:
            assert (await later.ask(auth={"password": "the-password"}))["ok"]
            configured(tmp_path, proxies)
            with anyio.fail_after(REVOKED_S):
                assert await later.ended() == (1008, "credential revoked")
        async with owner(gateway):
            pass


@pytest.mark.requirement("S12")
async def test_a_gateway_that_is_to_go_by_its_own_token_later_takes_that_of_its_file(tmp_path: Path) -> None:
    async with served(configured(tmp_path, {"auth": {"token": "the-first-secret"}})) as gateway:
        async with knocking(gateway) as caller:
            assert (await caller.ask(auth={"token": "the-first-secret"}))["ok"]
            configured(tmp_path, {})
            with anyio.fail_after(REVOKED_S):
                assert await caller.ended() == (1008, "credential revoked")
        assert (await refused(gateway, auth={"token": "the-first-secret"})).endswith("_MISMATCH")
        file = tmp_path / "gateway.token"
        file.touch(0o600)
        file.write_text("the-second-secret\n")
        async with knocking(gateway) as later:
            assert (await later.ask(auth={"token": "the-second-secret"}))["ok"]


@pytest.mark.requirement("P24", "S24")
async def test_the_token_of_the_gateway_is_told_to_nobody_not_even_in_what_was_said(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, owner(gateway) as caller:
        token = secret_of(gateway)
        said = await caller.call("sessions.create", {"label": f"it is {token}"})
        assert token not in str(said)
        assert token not in str(await caller.call("sessions.list", {}))


@pytest.mark.requirement("S21")
@pytest.mark.parametrize(
    "auth", [{}, {"token": ""}, {"password": ""}, {"deviceToken": ""}, {"bootstrapToken": ""}]
)
async def test_an_empty_credential_is_none(tmp_path: Path, auth: dict[str, str]) -> None:
    async with served(tmp_path) as gateway:
        assert await refused(gateway, auth=auth) == "DEVICE_IDENTITY_REQUIRED"


@pytest.mark.requirement("S22")
@pytest.mark.parametrize("field", ["principal", "approved", "admitted", "owner", "tenant", "local", "proof"])
async def test_no_field_of_the_gateways_own_is_taken_from_outside(tmp_path: Path, field: str) -> None:
    async with served(tmp_path) as gateway:
        places: tuple[dict[str, object], ...] = (
            {field: True},
            {"auth": {field: True}},
            {"client": {**CLIENT, field: True}},
        )
        for place in places:
            async with knocking(gateway) as caller:
                error = (await caller.ask(**place))["error"]
                assert f"unexpected property '{field}'" in error["message"]


@pytest.mark.requirement("S23")
async def test_before_the_handshake_a_message_is_small_and_afterwards_large(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        for parts in (["x" * 70_000], ["x" * 40_000, "x" * 40_000]):
            async with connect(gateway.url) as socket:
                await socket.recv()
                await socket.send(parts)
                with pytest.raises(ConnectionClosed):
                    await socket.recv()
                assert socket.close_code == 1009
        async with owner(gateway) as caller:
            assert (await caller.call("health", {"x": "y" * 1_000_000}))["error"]["code"] == "INVALID_REQUEST"


@pytest.mark.requirement("S23")
async def test_a_head_without_end_is_cut_off(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, await anyio.connect_tcp("127.0.0.1", gateway.port) as stream:
        await stream.send(b"GET / HTTP/1.1\r\n")
        with anyio.fail_after(60), pytest.raises(anyio.BrokenResourceError):
            await _fill(stream)


async def _fill(stream: ByteStream) -> None:
    while True:
        await stream.send(b"x-filler: " + b"y" * 4_000 + b"\r\n")
        await anyio.lowlevel.checkpoint()


@pytest.mark.requirement("S23")
async def test_a_crowd_that_says_nothing_keeps_nobody_out_or_waiting(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, anyio.create_task_group() as group, owner(gateway, ALL) as inside:
        lingering = examples(30, 500)
        crowd = pairs(count(1_500, 10_000 - lingering))
        sockets = [await anyio.connect_tcp("127.0.0.1", gateway.port) for _ in range(crowd)]
        for _ in range(lingering):
            await _linger(gateway.url, group)
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{gateway.port}") as http:
            assert (await http.get("/healthz")).status_code == 200
        async with owner(gateway, ALL) as caller:
            assert (await caller.call("health"))["ok"]
        assert min([await _answer_ms(inside) for _ in range(5)]) < HEALTH_MS
        for one in sockets:
            await one.aclose()
        group.cancel_scope.cancel()


async def _answer_ms(caller: Caller) -> float:
    began = time.perf_counter()
    assert (await caller.call("health"))["ok"]
    return (time.perf_counter() - began) * 1_000


async def _linger(url: str, group: TaskGroup) -> None:
    there = anyio.Event()

    async def stay() -> None:
        async with connect(url) as socket:
            await socket.recv()
            there.set()
            await socket.recv()

    group.start_soon(stay)
    await there.wait()


@pytest.mark.requirement("S23")
async def test_who_asks_and_does_not_read_is_disconnected(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, owner(gateway) as other:
        async with connect(gateway.url, compression=None, max_size=None, max_queue=1) as socket:
            await socket.recv()
            hello = {**CONNECT, "auth": {"token": secret_of(gateway)}}
            await socket.send(json.dumps({"type": "req", "id": "0", "method": "connect", "params": hello}))
            await socket.recv()
            asked = json.dumps({"type": "req", "method": "health", "id": "x" * (4 << 20)})
            with anyio.fail_after(60), pytest.raises(ConnectionClosed):
                await _send_on(socket, asked)
        assert (await other.call("health"))["ok"]


async def _send_on(socket: ClientConnection, text: str) -> None:
    """Without end: only who goes on writing sees that he was cut off."""
    while True:
        await socket.send(text)
