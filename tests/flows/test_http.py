"""What is asked of a gateway over plain HTTP, over each store."""

import json
from dataclasses import replace
from typing import Any

import pytest

from roost.core.events import EventKind
from roost.core.messages import Text, ToolCall, Usage
from roost.core.models import FailureKind, ToolSpec
from roost.core.queries import LedgerQuery, SessionQuery
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.testing.scripts import CallTool, Fail, Say, Spend, Stop
from tests.flows.served import Gate, Opened, send

COMPLETIONS = "/v1/chat/completions"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


class Stub:
    """A tool that shows what it was given."""

    def __init__(self, name: str, *, privileged: bool = False) -> None:
        self.spec = ToolSpec(name=name, description="Shows.", parameters={})
        self.traits = ToolTraits(privileged=privileged)
        self.calls: list[Invocation] = []

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        self.calls.append(invocation)
        await report("nobody hears this")
        if invocation.arguments.get("action") == "break":
            raise ValueError("broken")
        failed = invocation.arguments.get("action") == "fail"
        return ToolOutcome(content=(Text("shown"),), is_error=failed, details={"n": 1})


async def enable(gate: Gate) -> None:
    rules = gate.engine.rules
    await gate.engine.reload(replace(rules, house=replace(rules.house, completions=True)))


def asked(text: str, **more: object) -> dict[str, object]:
    return {"model": "openclaw", "messages": [{"role": "user", "content": text}], **more}


def streamed(body: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in body.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("verb", "path"),
    [("GET", "/metrics"), ("GET", "/v1/models"), ("POST", COMPLETIONS), ("POST", "/tools/invoke")],
)
async def test_without_the_credential_nothing_is_told(opened: Opened, verb: str, path: str) -> None:
    unauthorized = {"error": {"message": "Unauthorized", "type": "unauthorized"}}
    async with opened() as (gate, _):
        await enable(gate)
        for token, header in ((None, {}), ("wrong", {}), (None, {"Authorization": "Basic secret-token"})):
            async with gate.browser(token, **header) as http:
                answer = await http.request(verb, path, content=b"{")
                assert (answer.status_code, answer.json()) == (401, unauthorized)
        async with gate.browser(Origin="http://evil.example") as http:
            assert (await http.request(verb, path)).status_code == 403
        async with gate.browser(Origin="http://[") as http:
            assert (await http.request(verb, path)).status_code == 403
        async with gate.browser(
            Origin="http://127.0.0.1", **{"x-openclaw-scopes": "operator.pairing"}
        ) as http:
            answer = await http.request(verb, path)
            assert answer.status_code == 403
            assert "missing scope" in answer.json()["error"]["message"]
        async with gate.browser() as http:
            assert (await http.request("DELETE", path)).status_code == 405


@pytest.mark.parametrize(
    ("verb", "path", "status", "kind"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/v1/models/two%0Alines", 404, "not_found"),
        ("DELETE", "/v1/models", 405, "method_not_allowed"),
    ],
)
async def test_what_is_no_page_is_refused_as_pages_refuse(
    opened: Opened, verb: str, path: str, status: int, kind: str
) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        answer = await http.request(verb, path)
        assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)


async def test_agents_are_listed_as_models(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        listed = (await http.get("/v1/models")).json()
        assert [row["id"] for row in listed["data"]] == [
            "openclaw",
            "openclaw/default",
            "openclaw/main",
            "openclaw/helper",
        ]
        assert (await http.get("/v1/models/openclaw/main")).json()["id"] == "openclaw/main"
        assert (await http.get("/v1/models/nobody")).status_code == 404


async def test_completions_are_off_until_enabled(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        assert (await http.post(COMPLETIONS, json=asked("hi"))).status_code == 404
        assert gate.bench.model.requests == []


async def test_a_completion_is_one_answer_of_an_agent_and_leaves_no_session(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        await enable(gate)
        gate.bench.model.add((Say("Hello"), Spend(Usage(input=5, output=7, total=12))))
        answer = (await http.post(COMPLETIONS, json=asked("hi"))).json()
        assert answer["choices"] == [
            {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
        ]
        assert answer["id"].startswith("chatcmpl_")
        assert answer["usage"] == {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        assert (await gate.house.store.list_sessions(SessionQuery(archived=None))).rows == ()


@pytest.mark.requirement("P6")
async def test_an_answer_that_ends_for_want_of_room_says_so_whole_or_as_a_stream(opened: Opened) -> None:
    async with opened() as (gate, client), gate.browser() as http:
        await enable(gate)
        gate.bench.model.add(*((Say("Once upon"), Stop()),) * 3)
        answer = (await http.post(COMPLETIONS, json=asked("a story"))).json()
        assert answer["choices"][0]["message"]["content"] == "Once upon"
        assert answer["choices"][0]["finish_reason"] == "length"
        told = await http.post(COMPLETIONS, json=asked("a story", stream=True))
        assert streamed(told.text)[-1]["choices"][0]["finish_reason"] == "length"
        await client.call("chat.send", send("a story", "run-1"))
        waited = await client.call("agent.wait", {"runId": "run-1"})
        assert (waited["status"], waited["stopReason"]) == ("ok", "length")


async def test_a_stream_is_told_as_it_is_said(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        await enable(gate)
        gate.bench.tools = (Stub("show"),)
        gate.bench.model.add(
            (Say("Let me look."), CallTool(ToolCall(id="c", name="show", arguments={}))),
            (Say("It is "), Say("done.")),
        )
        asking = asked("hi", stream=True, stream_options={"include_usage": True}, user="ada")
        answer = await http.post(COMPLETIONS, json=asking)
        assert answer.headers["content-type"].startswith("text/event-stream")
        first, *parts, finish, spent = streamed(answer.text)
        assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        said = "".join(part["choices"][0]["delta"]["content"] for part in parts)
        assert said == "Let me look.\n\nIt is done."
        assert finish["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
        assert (spent["choices"], set(spent["usage"])) == (
            [],
            {"prompt_tokens", "completion_tokens", "total_tokens"},
        )
        # About that, of both calls: the model counted nothing.
        total = await gate.house.store.usage(LedgerQuery())
        assert total.calls == 2
        assert spent["usage"]["prompt_tokens"] == total.usage.input > 0
        assert spent["usage"]["completion_tokens"] == total.usage.output > 0
        gate.bench.model.add((Say("Again"), Spend(Usage(input=5, output=7, total=12))))
        again = (await http.post(COMPLETIONS, json=asked("more", user="ada"))).json()
        assert again["usage"] == {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}


async def test_a_user_has_a_session_that_remembers(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        await enable(gate)
        gate.bench.model.add((Say("one"),), (Say("two"),))
        talk = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "earlier"},
            {"role": "assistant", "content": [{"type": "text", "text": "said"}]},
        ]
        for text in ("first", "second"):
            messages = [*talk, {"role": "user", "content": text}]
            body = {"model": "agent:main", "messages": messages, "user": "ada lovelace"}
            assert (await http.post(COMPLETIONS, json=body)).status_code == 200
        (session,) = (await gate.house.store.list_sessions(SessionQuery())).rows
        assert str(session.key) == "agent:main:openai-user:ada%20lovelace"
        first, second = (request.messages for request in gate.bench.model.requests)
        assert "user: earlier" in str(first)
        assert "assistant: said" in str(first)
        assert "system: Be brief." in str(first)
        assert "user: earlier" not in str(second[-1])
        assert "system: Be brief." in str(second[-1])
        assert "Be brief." not in gate.bench.model.requests[0].system


async def test_what_the_caller_calls_system_is_no_command_either(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        await enable(gate)
        gate.bench.model.add((Say("no"),))
        answer = await http.post(COMPLETIONS, json=asked("/reset", user="ada"))
        assert answer.json()["choices"][0]["message"]["content"] == "no"


@pytest.mark.requirement("S10")
async def test_a_caller_names_no_session_but_by_user(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser(**{"x-openclaw-session-key": "agent:main:main"}) as http:
        await enable(gate)
        answer = await http.post(COMPLETIONS, json=asked("hi"))
        assert answer.status_code == 400
        assert await gate.house.store.session(gate.house.key("main")) is None


async def test_a_header_names_the_agent_and_none_the_model(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        await enable(gate)
        gate.bench.model.otherwise = (Say("hello"),)
        for headers, status in (
            ({"x-openclaw-agent-id": "Helper"}, 200),
            ({"x-openclaw-agent-id": "nobody"}, 400),
            ({"x-openclaw-model": "scripted/two"}, 400),
        ):
            answer = await http.post(COMPLETIONS, json=asked("hi", user="ann"), headers=headers)
            assert answer.status_code == status
        named = asked("hi", user="ann", model="openclaw/Helper")
        assert (await http.post(COMPLETIONS, json=named)).status_code == 200
        (session,) = (await gate.house.store.list_sessions(SessionQuery())).rows
        assert session.key.agent == "helper"


async def test_a_tool_is_called_in_a_session_by_its_id_too(opened: Opened) -> None:
    async with opened() as (gate, client), gate.browser() as http:
        gate.bench.tools = (Stub("show"),)
        made = await client.call("sessions.create", {"key": "plans"})
        answer = await http.post("/tools/invoke", json={"tool": "show", "sessionKey": made["sessionId"]})
        assert answer.json()["ok"]
        rows = (await gate.house.store.list_sessions(SessionQuery())).rows
        assert [str(row.key) for row in rows] == [made["key"]]


async def test_a_tool_is_not_called_in_a_session_of_another_agent_than_the_one_named(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        gate.bench.tools = (tool := Stub("show"),)
        wish = {"tool": "show", "sessionKey": "agent:helper:main", "agentId": "main"}
        answer = await http.post("/tools/invoke", json=wish)
        assert (answer.status_code, tool.calls) == (400, [])
        assert "session of agent 'helper', not of 'main'" in answer.json()["error"]["message"]


@pytest.mark.requirement("S10")
async def test_the_session_of_somebody_else_is_not_there(opened: Opened) -> None:
    async with opened() as (gate, client), gate.browser("alice-token") as http:
        await enable(gate)
        gate.bench.tools = (tool := Stub("show"),)
        await client.call("sessions.create", {"key": "agent:main:main"})
        before = await gate.house.store.session(gate.house.key("main"))
        for key in ("main", "agent:main:main", "agent:main:absent"):
            answer = await http.post("/tools/invoke", json={"tool": "show", "sessionKey": key})
            assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found")
        assert (await http.post(COMPLETIONS, json=asked("hi", user="x"))).status_code == 404
        assert tool.calls == []
        assert await gate.house.store.session(gate.house.key("main")) == before


async def test_a_model_that_fails_is_told(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        await enable(gate)
        gate.bench.model.add((Fail(FailureKind.AUTH, "no key"),), (Fail(FailureKind.AUTH, "no key"),))
        whole = await http.post(COMPLETIONS, json=asked("hi"))
        assert (whole.status_code, whole.json()["error"]["type"]) == (502, "api_error")
        parts = streamed((await http.post(COMPLETIONS, json=asked("hi", stream=True))).text)
        assert parts[-1]["error"]["type"] == "api_error"


@pytest.mark.requirement("S23")
@pytest.mark.parametrize(
    "body",
    [
        asked("hi", model="gpt-4"),
        asked("hi", model="openclaw/nobody"),
        asked("hi", tools=[{"type": "function"}]),
        asked("hi", user="heartbeat"),
        {"messages": [{"role": "tool", "content": "result"}, {"role": "user", "content": "hi"}]},
    ],
)
async def test_what_cannot_be_answered_starts_nothing(opened: Opened, body: dict[str, object]) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        await enable(gate)
        answer = await http.post(COMPLETIONS, json=body)
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
        assert (await gate.house.store.list_sessions(SessionQuery())).rows == ()


async def test_bodies_are_bounded(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser() as http:
        await enable(gate)
        for path, most in ((COMPLETIONS, 20 * 1024 * 1024), ("/tools/invoke", 2 * 1024 * 1024)):
            assert (await http.post(path, content=b" " * (most + 1))).status_code == 413
            assert (await http.post(path, content=b"{")).status_code == 400
            assert (await http.post(path, content=b"[]")).status_code == 400


async def test_a_tool_is_called_by_the_policy_of_its_session(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser(traceparent=PARENT) as http:
        gate.bench.tools = (tool := Stub("show"),)
        answer = await http.post("/tools/invoke", json={"tool": "show", "args": {"a": 1}, "action": "look"})
        assert answer.json() == {
            "ok": True,
            "result": {"content": [{"type": "text", "text": "shown"}], "details": {"n": 1}},
        }
        (call,) = tool.calls
        assert (str(call.key), call.arguments) == ("agent:main:main", {"action": "look", "a": 1})
        assert (call.cause.by_owner, call.cause.trace) == (True, TRACE)
        for action in ("fail", "break"):
            failed = await http.post("/tools/invoke", json={"name": "show", "action": action})
            assert (failed.status_code, failed.json()["error"]["type"]) == (400, "tool_error")
        assert (await http.post("/tools/invoke", json={"args": {}})).status_code == 400
        assert (await http.post("/tools/invoke", json={"tool": "show", "approved": True})).status_code == 400


@pytest.mark.requirement("S9")
async def test_session_tools_need_their_own_scope(opened: Opened) -> None:
    names = ("sessions_list", "sessions_history", "sessions_search", "session_status", "agents_list")
    async with opened() as (gate, _):
        gate.bench.tools = tuple(Stub(name) for name in names)
        for name in names:
            for scopes in ("", "operator.admin operator.write", "operator.admin,operator.read"):
                async with gate.browser(**({"x-openclaw-scopes": scopes} if scopes else {})) as http:
                    refused = await http.post("/tools/invoke", json={"tool": name})
                    assert (refused.status_code, refused.json()["error"]["type"]) == (404, "not_found")
            async with gate.browser(
                **{"x-openclaw-scopes": "operator.write, operator.tools.sessions"}
            ) as http:
                assert (await http.post("/tools/invoke", json={"tool": name})).status_code == 200
        denied = {one.operation for one in await gate.house.store.denials(100)}
        assert denied == set(names)


@pytest.mark.requirement("S9")
async def test_what_acts_or_is_privileged_is_not_there_whatever_the_scope(opened: Opened) -> None:
    names = ("exec", "write", "edit", "sessions_send", "sessions_spawn", "sessions_yield", "subagents")
    every = "operator.admin operator.tools.sessions"
    async with opened() as (gate, _), gate.browser(**{"x-openclaw-scopes": every}) as http:
        gate.bench.tools = (*(Stub(name) for name in names), Stub("deploy", privileged=True))
        for name in (*names, "deploy", "nothing"):
            refused = await http.post("/tools/invoke", json={"tool": name, "sessionKey": "main"})
            assert refused.status_code == 404
            assert refused.json()["error"]["message"] == f"Tool not available: {name}"
        unknown = await http.post("/tools/invoke", json={"tool": "x", "agentId": "nobody"})
        assert unknown.status_code == 400


async def test_figures_are_written_for_prometheus(opened: Opened) -> None:
    async with opened() as (gate, client), gate.browser() as http:
        gate.bench.model.add((Say("Hello"),))
        sent = {"sessionKey": "main", "message": "hi", "idempotencyKey": "r"}
        await client.call("chat.send", sent)
        await client.event("chat", state="final")
        answer = await http.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        lines = answer.text.splitlines()
        for line in (
            'roost_run_seconds_count{kind="turn",state="done"} 1.0',
            "roost_run_wait_seconds_count 1.0",
            'roost_runs{state="queued"} 0.0',
            'roost_deliveries{state="intent"} 0.0',
            "roost_leases 1.0",
            "roost_connections 1.0",
        ):
            assert line in lines
        assert "main" not in answer.text


@pytest.mark.requirement("P29")
async def test_the_trace_of_a_request_is_that_of_its_run(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser(traceparent=PARENT) as http:
        await enable(gate)
        gate.bench.model.add((Say("one"),), (Say("two"),))
        await http.post(COMPLETIONS, json=asked("hi", user="ada"))
        (session,) = (await gate.house.store.list_sessions(SessionQuery())).rows
        events = await gate.house.store.events(session.key, after=0, limit=100)
        runs = [
            await gate.house.store.run(event.ref) for event in events if event.kind is EventKind.RUN_ENDED
        ]
        assert [run.cause.trace for run in runs if run] == [TRACE]
