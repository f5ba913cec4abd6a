"""HTTP over a real port: what goes with a connection, and what goes on without it."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream

from roost.app.serving import Served
from roost.core.feeds import ListItem, SessionGone
from roost.core.principals import OWNER
from roost.core.queries import SessionQuery
from roost.core.visibility import PersonCaller
from roost.server.callers import LEAVING
from roost.server.listening import bind, listener
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import Hang, Say
from tests.e2e.edges import secret_of
from tests.e2e.test_gateway import served
from tests.flows.served import Gate, gates

COMPLETIONS = "/v1/chat/completions"


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[tuple[Gate, httpx2.AsyncClient]]:
    """A gateway with a scripted model on a port of its own."""
    with anyio.fail_after(120):
        async with gates("sqlite", folder) as gate, anyio.create_task_group() as group:
            rules = gate.engine.rules
            await gate.engine.reload(replace(rules, house=replace(rules.house, completions=True)))
            port, server = bind("127.0.0.1", 0), listener(gate.app)
            group.start_soon(server.serve, [port])
            url = f"http://127.0.0.1:{port.getsockname()[1]}"
            headers = {"Authorization": "Bearer secret-token"}
            async with httpx2.AsyncClient(base_url=url, headers=headers) as http:
                yield gate, http
            server.should_exit = True


def asked(text: str, **more: object) -> dict[str, object]:
    return {"model": "openclaw", "messages": [{"role": "user", "content": text}], **more}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("user", [None, "ada"])
async def test_who_hangs_up_stops_the_run(tmp_path: Path, stream: bool, user: str | None) -> None:
    async with listening(tmp_path) as (gate, http):
        gate.bench.model.add((Say("Once"), Hang()))
        named = {} if user is None else {"user": user}

        async def ask() -> None:
            await http.post(COMPLETIONS, json=asked("hi", stream=stream, **named))

        async with gate.engine.feed.subscribe_all(PersonCaller(principal=OWNER)) as items:
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                await gate.bench.model.asked(1)
                group.cancel_scope.cancel()
            await gate.bench.model.left()
            await gate.engine.settled()
            if user is None:
                assert any([isinstance(item, SessionGone) async for item in _until_gone(items)])
        assert len((await gate.house.store.list_sessions(SessionQuery(archived=None))).rows) == bool(user)


async def _until_gone(items: AsyncIterator[ListItem]) -> AsyncIterator[ListItem]:
    async for item in items:
        yield item
        if isinstance(item, SessionGone):
            return


async def test_a_stream_is_told_while_the_model_still_thinks(tmp_path: Path) -> None:
    async with listening(tmp_path) as (gate, http):
        gate.bench.model.add((Say("Once upon"), Hang()))
        async with http.stream("POST", COMPLETIONS, json=asked("hi", stream=True)) as answer:
            seen = ""
            async for line in answer.aiter_lines():
                seen += line
                if "Once upon" in seen:
                    break
        await gate.bench.model.left()


async def test_a_body_without_end_is_cut_off(tmp_path: Path) -> None:
    async with listening(tmp_path) as (_, http):

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(64):
                yield b" " * 65_536

        answer = await http.post("/tools/invoke", content=endless())
        assert answer.status_code == 413


@pytest.mark.requirement("S9")
async def test_a_configured_gateway_answers_over_http(tmp_path: Path) -> None:
    (tmp_path / "roost.json").write_text(
        "{ gateway: { http: { endpoints: { chatCompletions: { enabled: true } } } } }"
    )
    async with served(tmp_path) as gateway:
        token = (tmp_path / "gateway.token").read_text().strip()
        url = f"http://127.0.0.1:{gateway.port}"
        async with httpx2.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}) as http:
            answer = await http.post(COMPLETIONS, json=asked("what is a session?"))
            assert "one conversation" in answer.json()["choices"][0]["message"]["content"]
            figures = (await http.get("/metrics")).text
            assert 'roost_run_seconds_count{kind="turn",state="done"} 1.0' in figures
            workspace = tmp_path / "workspace" / "main"
            (workspace / "note.txt").write_text("kept here")
            read = await http.post("/tools/invoke", json={"tool": "read", "args": {"path": "note.txt"}})
            assert "kept here" in read.text
            for tool in ("exec", "write", "sessions_send", "sessions_list"):
                refused = await http.post("/tools/invoke", json={"tool": tool, "args": {}})
                assert refused.status_code == 404
            scopes = {"x-openclaw-scopes": "operator.write operator.tools.sessions"}
            listed = await http.post("/tools/invoke", json={"tool": "sessions_list"}, headers=scopes)
            assert listed.json()["ok"] is True


HOOK_TOKEN = "hook-token-0123456789"
AT_ONE_HOST = "HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def hooked(home: Path, model: str) -> None:
    provider = {"baseUrl": model, "models": [{"id": "small", "contextWindow": 64_000}]}
    document = {
        "models": {"providers": {"local": provider}},
        "agents": {"defaults": {"model": "local/small"}},
        "hooks": {"enabled": True, "token": HOOK_TOKEN},
        "gateway": {"http": {"endpoints": {"chatCompletions": {"enabled": True}}}},
    }
    (home / "roost.json").write_text(json.dumps(document))


async def half(gateway: Served, path: str, token: str, sockets: AsyncExitStack) -> SocketStream:
    """A request that is let in, and of which the body does not end."""
    stream = await sockets.enter_async_context(await anyio.connect_tcp("127.0.0.1", gateway.port))
    head = f"POST {path} {AT_ONE_HOST}Authorization: Bearer {token}\r\nContent-Length: 1000\r\n"
    await stream.send(f"{head}Expect: 100-continue\r\n\r\n{{".encode())
    # Asked for its body, it is being read.
    assert b" 100 " in await stream.receive()
    return stream


async def test_who_has_not_said_all_when_the_gateway_leaves_is_told_to_come_again(tmp_path: Path) -> None:
    paths = {COMPLETIONS: "", "/tools/invoke": "", "/hooks/agent": HOOK_TOKEN}
    async with AsyncExitStack() as sockets:
        hooked(tmp_path, "http://127.0.0.1:9/v1")
        async with served(tmp_path) as gateway:
            own = secret_of(gateway)
            streams = [await half(gateway, path, token or own, sockets) for path, token in paths.items()]
        with anyio.fail_after(60):
            told = [(await stream.receive()).decode() for stream in streams]
    assert [one.split()[1] for one in told] == ["503"] * len(paths)
    assert [LEAVING.reason in one for one in told] == [True] * len(paths)


@pytest.mark.requirement("S12")
async def test_who_loses_the_credential_before_all_is_said_is_told_so(tmp_path: Path) -> None:
    paths = (COMPLETIONS, "/tools/invoke")
    hooked(tmp_path, "http://127.0.0.1:9/v1")
    async with AsyncExitStack() as sockets, served(tmp_path) as gateway:
        streams = [await half(gateway, path, secret_of(gateway), sockets) for path in paths]
        assert gateway.token_file is not None
        gateway.token_file.write_text("another-token-0123456789\n")
        told = [(await stream.receive()).decode() for stream in streams]
    assert [one.split()[1] for one in told] == ["401"] * len(paths)


async def test_a_hook_that_waits_when_the_gateway_leaves_is_told_that_it_was_taken_and_goes_on(
    tmp_path: Path,
) -> None:
    told: list[httpx2.Response] = []

    async def call(port: int) -> None:
        headers = {"Authorization": f"Bearer {HOOK_TOKEN}", "Idempotency-Key": "d1"}
        async with httpx2.AsyncClient(timeout=60) as http:
            body = {"message": "the build broke", "waitForCompletion": True}
            told.append(await http.post(f"http://127.0.0.1:{port}/hooks/agent", json=body, headers=headers))

    async with FakeOpenAI(reply_of([Hang()]), otherwise=reply_of([Say("Mended.")])) as model:
        hooked(tmp_path, model.base_url)
        async with anyio.create_task_group() as group, served(tmp_path) as gateway:
            group.start_soon(call, gateway.port)
            await model.asked(1)
        async with served(tmp_path) as gateway:
            await call(gateway.port)
    first, again = told
    assert (first.status_code, first.json()["status"]) == (200, "timeout")
    assert again.json() == {
        **{name: first.json()[name] for name in ("ok", "runId", "sessionKey")},
        "status": "ok",
        "duplicate": True,
    }
