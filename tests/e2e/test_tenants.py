"""Two people who trust each other in nothing, on one gateway: whatever one of them asks over its port, she is told the same
whether the other is there or not."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect

from roost.core.keys import SessionKey
from roost.core.principals import person
from roost.protocol.methods import METHODS
from roost.testing.scripts import Hang, Say
from tests.e2e.test_gateway import CONNECT, Caller
from tests.e2e.test_http import COMPLETIONS, asked, listening
from tests.flows.guards import CAROL, CAROLS, NOWHERE, id_of, open_for
from tests.flows.served import Gate
from tests.flows.test_http import Stub
from tests.flows.wiredoors import RPC_DOORS, RPC_VIEWS

SCOPES = [
    *("operator.admin", "operator.read", "operator.write", "operator.pairing"),
    *("operator.approvals", "operator.questions", "operator.tools.sessions"),
]
BOB = person("loopback", "bob")
BOBS = SessionKey.parse("agent:main:loopback:direct:bob")
CHILD = SessionKey.parse("agent:main:subagent:of-bob")
SAME, LABEL, SECRET = "the-same-name", "Taken", "a-word-of-bobs"
CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b\d{13}\b|(?:uptimeMs|lagMs|maxLagMs)\W+[\d.]+"
)


@asynccontextmanager
async def entering(http: httpx2.AsyncClient, token: str) -> AsyncIterator[Caller]:
    url = f"ws://{http.base_url.host}:{http.base_url.port}"
    async with connect(url, compression=None, max_size=None) as socket:
        caller = Caller(socket)
        await caller.frame()
        params = {**CONNECT, "scopes": SCOPES, "caps": ["tool-events"], "auth": {"token": token}}
        hello = await caller.call("connect", params)
        caller.events.append(hello)
        assert hello["ok"], hello
        yield caller


@asynccontextmanager
async def bob(gate: Gate, http: httpx2.AsyncClient) -> AsyncIterator[None]:
    """Has sessions, a label, a run that ended and one that goes on, and is connected twice."""
    for number in range(12):
        await open_for(gate.house.store, SessionKey.parse(f"agent:main:explicit:bob-{number}"), BOB)
    await open_for(gate.house.store, BOBS, BOB)
    await open_for(gate.house.store, CHILD, BOB, BOBS)
    async with entering(http, "bob-token") as caller, entering(http, "bob-token") as other:
        await other.call("sessions.subscribe", {})
        labelled = await caller.call("sessions.patch", {"key": str(BOBS), "label": LABEL})
        assert labelled["ok"], labelled
        # A word that might grow into a credential is shown once it is whole.
        gate.bench.model.add((Say(SECRET),), (Say(f"{SECRET} and"), Hang()))
        for name in ("over", SAME):
            said = {"sessionKey": str(BOBS), "message": SECRET, "idempotencyKey": name}
            assert (await caller.call("chat.send", said))["ok"]
            await caller.event("chat", runId=name, state="final" if name == "over" else "delta")
        yield


def requests(run_id: str) -> list[tuple[str, dict[str, object]]]:
    """All there is, in every way that another's session can be named, and her own beside it."""
    foreign: list[tuple[str, dict[str, object]]] = [
        (door.method, door.params(name)) for door in RPC_DOORS for name in _names(by_id=door.by_id)
    ]
    runs: list[tuple[str, dict[str, object]]] = []
    for name in (run_id, "over", SAME):
        runs += [
            ("agent.wait", {"runId": name, "timeoutMs": 0}),
            ("sessions.abort", {"runId": name}),
            ("chat.abort", {"sessionKey": str(BOBS), "runId": name}),
        ]
    return [
        *((method, {}) for method in METHODS),
        *((view.method, view.params) for view in RPC_VIEWS),
        *foreign,
        *runs,
        ("sessions.resolve", {"label": LABEL}),
        ("sessions.list", {"label": LABEL}),
        ("sessions.list", {"limit": 1}),
        ("sessions.list", {"search": "bob"}),
        ("sessions.list", {"spawnedBy": str(BOBS)}),
        ("sessions.search", {"query": SECRET}),
        ("roost.search", {"query": SECRET}),
        ("sessions.usage", {"range": "all"}),
        ("sessions.subscribe", {}),
        ("sessions.patch", {"key": str(CAROLS), "label": LABEL}),
        ("sessions.messages.subscribe", {"key": str(CAROLS)}),
        ("chat.send", {"sessionKey": str(CAROLS), "message": "hi", "idempotencyKey": SAME}),
    ]


def _names(*, by_id: bool) -> list[str]:
    keys = (BOBS, CHILD, NOWHERE)
    return [id_of(key) if by_id else str(key) for key in keys]


async def pages(http: httpx2.AsyncClient) -> list[object]:
    head = {"Authorization": "Bearer carol-token", "x-openclaw-scopes": " ".join(SCOPES)}
    answers = [
        await http.get(path, headers=head) for path in ("/metrics", "/v1/models", "/readyz", "/startupz")
    ]
    for key in (BOBS, CHILD, NOWHERE, CAROLS):
        for tool in ("show", "absent"):
            body = {"tool": tool, "sessionKey": str(key)}
            answers.append(await http.post("/tools/invoke", json=body, headers=head))
    answers += [
        await http.post(COMPLETIONS, json=asked("hi", user=user), headers=head) for user in ("bob", str(BOB))
    ]
    return [(answer.status_code, answer.text) for answer in answers]


async def learned(folder: Path, *, beside: bool) -> list[str]:
    """What Carol is told, without what changes with time and chance; what is told of her own run comes as it comes."""
    async with listening(folder) as (gate, http), AsyncExitStack() as stack:
        gate.bench.tools = (Stub("show"),)
        await open_for(gate.house.store, CAROLS, CAROL)
        run_id = gate.house.new_id()
        if beside:
            await stack.enter_async_context(bob(gate, http))
            record = await gate.house.store.inbound_by_key(BOB, None, SAME)
            assert record is not None
            run_id = record.run_id or run_id
        gate.bench.model.otherwise = (Say("yes"),)
        async with entering(http, "carol-token") as carol:
            answers: list[object] = [
                (method, _untold(await carol.call(method, params))) for method, params in requests(run_id)
            ]
            await carol.event("chat", state="final")
            for name in ("agent", "session.message", "sessions.changed"):
                await carol.event(name, sessionKey=str(CAROLS))
            hello, *events = carol.events
        assert SECRET not in json.dumps(events)
        answers += [
            hello,
            *sorted({_told_of(event) for event in events if "sessionKey" in event["payload"]}),
            *await pages(http),
        ]
    return [CHANGING.sub("#", json.dumps(answer, sort_keys=True)) for answer in answers]


def _told_of(event: dict[str, Any]) -> tuple[str, str]:
    return event["event"], event["payload"]["sessionKey"]


def _untold(frame: dict[str, Any]) -> dict[str, Any]:
    """The number of a request is her own."""
    return {name: value for name, value in frame.items() if name != "id"}


@pytest.mark.requirement("F5", "P2", "P8", "S10", "S20")
async def test_nobody_learns_anything_of_another_tenant(tmp_path: Path) -> None:
    for name in ("alone", "beside"):
        (tmp_path / name).mkdir()
    alone = await learned(tmp_path / "alone", beside=False)
    beside = await learned(tmp_path / "beside", beside=True)
    assert [pair for pair in zip(alone, beside, strict=True) if pair[0] != pair[1]] == []
    assert [told for told in beside if SECRET in told] == []
