"""`roost gateway run` on the terminal."""

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio import to_thread

from roost.app.serving import Served
from roost.cli.main import main
from roost.cli.serve import _Leaving, serve
from roost.client import Answer, Client
from roost.client.trust import fingerprint_of
from roost.config import load
from roost.config.gateway import Bind
from roost.core.errors import ConfigInvalid
from roost.core.jsonvalue import JsonObject
from roost.protocol.families.chat import SEND
from roost.server.callers import LEAVING
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import Hang, Say
from tests.certificates import certificate
from tests.unit.cli.conftest import Screen

STOPPED_S = 5


async def test_it_says_where_it_listens_and_stops_when_it_is_told_to(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(serve, load({"ROOST_HOME": str(home)}), 0, None)
            await to_thread.run_sync(screen.shows, "Ctrl-C")
            os.kill(os.getpid(), signal.SIGTERM)
    assert "listens on ws://127.0.0.1:" in screen.getvalue()
    assert str(home / "gateway.token") in screen.getvalue()
    assert screen.getvalue().splitlines()[-1].startswith("stopping")


async def test_it_says_which_certificate_it_shows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cert, _ = certificate(home)
    (home / "roost.json").write_text('{ gateway: { tls: { cert: "cert.pem", key: "key.pem" } } }')
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(serve, load({"ROOST_HOME": str(home)}), 0, None)
            await to_thread.run_sync(screen.shows, "Ctrl-C")
            os.kill(os.getpid(), signal.SIGTERM)
    assert f"its certificate is {fingerprint_of(cert)}" in screen.getvalue()


@pytest.mark.parametrize("person", [True, False])
async def test_the_page_is_named_with_its_token_only_to_a_person(
    home: Path, monkeypatch: pytest.MonkeyPatch, *, person: bool
) -> None:
    screen = Screen()
    monkeypatch.setattr(screen, "isatty", lambda: person)
    monkeypatch.setattr("sys.stdout", screen)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(serve, load({"ROOST_HOME": str(home)}), 0, None)
            await to_thread.run_sync(screen.shows, "Ctrl-C")
            os.kill(os.getpid(), signal.SIGTERM)
    token = (home / "gateway.token").read_text().strip()
    assert "open http://127.0.0.1:" in screen.getvalue()
    assert (f"/#token={token}" in screen.getvalue()) is person


async def test_it_is_not_open_to_others_without_auth(home: Path) -> None:
    (home / "roost.json").write_text('{ gateway: { auth: { mode: "none" } } }')
    with pytest.RaisesGroup(pytest.RaisesExc(ConfigInvalid, match="beyond loopback")):
        await serve(load({"ROOST_HOME": str(home)}), 0, Bind("lan"))


async def test_what_is_under_way_is_waited_for_until_the_next_signal() -> None:
    with anyio.fail_after(60), anyio.open_signal_receiver(signal.SIGUSR1) as signals:
        async with anyio.create_task_group() as group:
            leaving = _Leaving(group.cancel_scope)
            leaving.serves = True
            group.start_soon(leaving.hear, signals)
            os.kill(os.getpid(), signal.SIGUSR1)
            await leaving.asked.wait()
            os.kill(os.getpid(), signal.SIGUSR1)
            await anyio.sleep_forever()
    assert group.cancel_scope.cancelled_caught


@pytest.mark.requirement("F6")
async def test_one_that_waits_for_the_store_stops_when_it_is_told_to(
    home: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(serve, load({"ROOST_HOME": str(home)}), 0, None)
            await to_thread.run_sync(screen.shows, "waiting: the store belongs to gateway")
            os.kill(os.getpid(), signal.SIGTERM)
    assert "listens" not in screen.getvalue()


@pytest.mark.requirement("P30")
async def test_it_leaves_when_a_client_asks_it_to(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(serve, load({"ROOST_HOME": str(home)}), None, None)
            await to_thread.run_sync(screen.shows, "Ctrl-C")
            assert await to_thread.run_sync(main, ["gateway", "drain", "nobody"]) == 1
            assert await to_thread.run_sync(main, ["gateway", "drain"]) == 0
    assert "not nobody (`roost status` lists those that there are)" in capsys.readouterr().err
    assert "leaves; it waits for what is being sent, 2500 ms at most" in screen.getvalue()
    assert "stopping; what is under way" in screen.getvalue()


@asynccontextmanager
async def begun(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """Where a gateway listens, which is told to stop after the block, and has soon."""
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    async with anyio.create_task_group() as group:
        group.start_soon(serve, load({"ROOST_HOME": str(home)}), 0, None)
        await to_thread.run_sync(screen.shows, "Ctrl-C")
        yield screen.getvalue().partition(" listens on ")[2].partition(";")[0]
        os.kill(os.getpid(), signal.SIGTERM)
        told = anyio.current_time()
    assert anyio.current_time() - told < STOPPED_S


async def test_a_stop_takes_five_seconds_at_most_while_a_model_hangs_and_loses_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = reply_of([Hang()])
    async with FakeOpenAI(hanging, hanging, otherwise=reply_of([Say("Here I am.")])) as model:
        (home / "roost.json").write_text(json.dumps(_answered_by(model.base_url)))
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group, begun(home, monkeypatch) as url:
                token = (home / "gateway.token").read_text().strip()
                async with Client(url, token=token) as client:
                    sent: JsonObject = {"sessionKey": "main", "message": "Hello?", "idempotencyKey": "hi"}
                    await client.call(SEND, sent)
                    group.start_soon(_ask_over_http, url, token)
                    await model.asked(2)
            async with begun(home, monkeypatch) as url, Client(url, token=token) as client:
                pieces = [piece async for piece in client.chat("Hello?", name="hi")]
        assert pieces == [Answer(text="Here I am.")]


async def _ask_over_http(url: str, token: str) -> None:
    async with httpx2.AsyncClient(timeout=60) as http:
        answer = await http.post(
            f"http{url.removeprefix('ws')}/v1/chat/completions",
            headers={"Authorization": f"Bearer {token}"},
            json={"model": "openclaw", "messages": [{"role": "user", "content": "And you?"}]},
        )
    assert (answer.status_code, answer.json()["error"]["message"]) == (503, LEAVING.reason)


def _answered_by(url: str) -> JsonObject:
    provider: JsonObject = {
        "baseUrl": url,
        "api": "openai-completions",
        "apiKey": "key",
        "models": [{"id": "small"}],
    }
    return {
        "agents": {"defaults": {"model": "fake/small"}},
        "gateway": {"http": {"endpoints": {"chatCompletions": {"enabled": True}}}},
        "models": {"providers": {"fake": provider}},
    }
