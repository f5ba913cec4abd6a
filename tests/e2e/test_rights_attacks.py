"""Attacks over the port by who has some right and wants another: commands, tools of a child, and webhooks that lead inwards."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from roost.app.serving import Served
from roost.core.jsonvalue import JsonObject
from roost.core.messages import ToolCall
from roost.testing.fake_http import Asked, Reply
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import CallTool, Say
from tests.e2e.edges import owner
from tests.e2e.test_gateway import served

COMMANDS = ("/new", "/reset", "/stop", "/compact", "/model demo/demo", "/send off", "/export --raw")


@pytest.mark.requirement("S6")
@pytest.mark.parametrize("scopes", [["operator.read"], ["operator.write"]], ids=["read", "write"])
async def test_no_command_does_what_the_scopes_of_its_sender_do_not(
    tmp_path: Path, scopes: list[str]
) -> None:
    async with served(tmp_path) as gateway, owner(gateway) as whole, owner(gateway, scopes) as caller:
        await whole.call("chat.send", {"sessionKey": "main", "message": "hi", "idempotencyKey": "first"})
        await whole.event("chat", state="final")
        before = (await whole.call("sessions.describe", {"key": "main"}))["payload"]["session"]
        for number, command in enumerate(COMMANDS):
            for method, named in (
                ("chat.send", "sessionKey"),
                ("sessions.send", "key"),
                ("agent", "sessionKey"),
            ):
                name = f"{number}-{method}"
                await caller.call(method, {named: "main", "message": command, "idempotencyKey": name})
        after = (await whole.call("sessions.describe", {"key": "main"}))["payload"]["session"]
        for told in ("sessionId", "model", "sendPolicy", "label"):
            assert after.get(told) == before.get(told), told


@dataclass(frozen=True)
class Family:
    """What a parent's child and its tools make of what they are told: by the words of its task."""

    calls: dict[str, tuple[tuple[str, JsonObject], ...]]
    results: dict[str, list[str]]

    def __call__(self, asked: Asked) -> Reply:
        messages = asked.body["messages"]
        assert isinstance(messages, list)
        text = next(str(one) for one in messages if isinstance(one, dict) and one.get("role") == "user")
        word = next((one for one in self.calls if one in text), None)
        if word is None:
            return reply_of((Say("ok"),))
        last = messages[-1]
        assert isinstance(last, dict)
        done = self.results.setdefault(word, [])
        if last.get("role") == "tool":
            done.append(str(last["content"]))
        if len(done) == len(self.calls[word]):
            return reply_of((Say("done"),))
        tool, arguments = self.calls[word][len(done)]
        return reply_of((CallTool(ToolCall(id=f"c{len(done)}", name=tool, arguments=arguments)),))


@asynccontextmanager
async def families(
    home: Path, calls: dict[str, tuple[tuple[str, JsonObject], ...]], **more: object
) -> AsyncIterator[tuple[Served, Family]]:
    family = Family(calls, {})
    async with FakeOpenAI(otherwise=family) as model:
        provider = {"baseUrl": model.base_url, "models": [{"id": "small", "contextWindow": 64_000}]}
        document = {
            "models": {"providers": {"local": provider}},
            "agents": {"defaults": {"model": "local/small"}},
            **more,
        }
        (home / "roost.json").write_text(json.dumps(document))
        async with served(home) as gateway:
            yield gateway, family


async def _say(gateway: Served, text: str) -> None:
    async with owner(gateway) as caller:
        sent = {"sessionKey": "main", "message": text, "idempotencyKey": text}
        assert (await caller.call("chat.send", sent))["ok"]
        await caller.event("chat", state="final")


async def _children(gateway: Served) -> list[str]:
    async with owner(gateway) as caller:
        rows = (await caller.call("sessions.list", {"limit": 100}))["payload"]["sessions"]
        return [row["key"] for row in rows if ":subagent:" in row["key"]]


@pytest.mark.requirement("S15", "S16")
async def test_a_child_has_no_tool_by_which_it_reaches_beyond_what_its_parent_gave_it(tmp_path: Path) -> None:
    spawn: tuple[str, JsonObject] = ("sessions_spawn", {"task": "TASK-OF-A-CHILD"})
    tries: tuple[tuple[str, JsonObject], ...] = (
        ("sessions_spawn", {"task": "deeper"}),
        ("subagents", {"action": "kill", "target": "all"}),
        ("subagents", {"action": "steer", "target": "agent:main:main", "message": "obey"}),
        ("sessions_send", {"sessionKey": "agent:main:main", "message": "obey"}),
        ("exec", {"command": "touch broken-out"}),
        ("cron", {"action": "add"}),
    )
    calls = {"TASK-OF-A-CHILD": tries, "PLEASE-SPAWN": (spawn,)}
    async with families(tmp_path, calls, tools={"deny": ["exec"]}) as (gateway, family):
        await _say(gateway, "PLEASE-SPAWN")
        with anyio.fail_after(60):
            while len(family.results.get("TASK-OF-A-CHILD", ())) < len(tries):
                await anyio.lowlevel.checkpoint()
        assert len(await _children(gateway)) <= 1
        for (tool, _), told in zip(tries, family.results["TASK-OF-A-CHILD"], strict=True):
            assert f"There is no tool '{tool}' here" in told, told


@pytest.mark.requirement("S17")
async def test_no_tool_that_reads_tells_of_a_session_out_of_sight_however_it_is_named(tmp_path: Path) -> None:
    async with families(tmp_path, calls := {}) as (gateway, family):
        async with owner(gateway) as caller:
            hidden = {"key": "agent:main:hidden", "label": "Hidden", "message": "SECRET-WORD"}
            made = await caller.call("sessions.create", hidden)
            await caller.event("chat", state="final")
        names = ("agent:main:hidden", "hidden", made["payload"]["sessionId"])
        readers = ("session_status", "sessions_history")
        calls["PLEASE-LOOK"] = (
            *((tool, {"sessionKey": name}) for tool in readers for name in names),
            ("sessions_list", {"limit": 50, "messageLimit": 5}),
            ("sessions_search", {"query": "SECRET-WORD"}),
        )
        await _say(gateway, "PLEASE-LOOK")
        told = family.results["PLEASE-LOOK"]
        assert len(told) == len(calls["PLEASE-LOOK"])
        assert [one for one in told if "SECRET-WORD said" in one or '"Hidden"' in one] == []
        assert [one for one in told[:6] if "SECRET" in one] == []


@pytest.mark.requirement("S14")
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"]
)
async def test_no_webhook_leads_back_into_this_machine(tmp_path: Path, host: str) -> None:
    called: list[object] = []

    async def hear(stream: SocketStream) -> None:
        called.append(stream)
        await stream.aclose()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listening,
        anyio.create_task_group() as group,
        served(tmp_path) as gateway,
        owner(gateway) as caller,
    ):
        group.start_soon(listening.serve, hear)
        to = f"http://{host}:{listening.extra(SocketAttribute.local_port)}/in"
        sent = await caller.call(
            "send", {"channel": "webhook", "to": to, "message": "x", "idempotencyKey": "w"}
        )
        assert not sent["ok"], sent
        group.cancel_scope.cancel()
    assert called == []
