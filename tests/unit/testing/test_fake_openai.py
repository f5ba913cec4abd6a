"""The endpoint on this machine, spoken to without an adapter."""

import json

import anyio
import httpx2
import pytest

from roost.core.messages import StopReason, ToolCall, Usage
from roost.core.models import FailureKind
from roost.testing.fake_openai import DONE, Cut, FakeOpenAI, Reply, delta, refused, reply_of
from roost.testing.scripts import CallTool, Fail, Hang, Say, Script, Spend, Stop, Think, Until

CALL = ToolCall(id="c1", name="read", arguments={"path": "notes.txt"})


async def post(server: FakeOpenAI) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(f"{server.base_url}/chat/completions", json={"model": "m"})


async def test_a_script_is_written_as_events_with_usage_and_the_mark_of_the_end() -> None:
    script: Script = [
        Think("h"),
        Say("a"),
        CallTool(CALL),
        Spend(Usage(input=3, output=2, cache_read=1, total=6)),
    ]
    async with FakeOpenAI(reply_of(script)) as server:
        response = await post(server)
    assert response.headers["content-type"] == "text/event-stream"
    *events, done = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    chunks = [json.loads(data) for data in events]
    assert done == "[DONE]"
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    parts = [part["function"]["arguments"] for found in deltas for part in found.get("tool_calls", [])]
    assert deltas[1:3] == [{"reasoning_content": "h"}, {"content": "a"}]
    assert len(parts) > 2
    assert json.loads("".join(parts)) == CALL.arguments
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["usage"]["prompt_tokens"] == 4


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (FailureKind.AUTH, 401),
        (FailureKind.RATE_LIMIT, 429),
        (FailureKind.OVERFLOW, 400),
        (FailureKind.TRANSIENT, 503),
        (FailureKind.PERMANENT, 404),
    ],
)
async def test_a_script_that_fails_at_once_is_an_http_error(kind: FailureKind, status: int) -> None:
    async with FakeOpenAI(reply_of([Fail(kind, "no", 1_500)])) as server:
        response = await post(server)
    assert (response.status_code, response.headers["retry-after"]) == (status, "1.5")
    assert response.json()["error"]["message"] == "no"


async def test_requests_are_kept_and_answered_in_order_then_otherwise() -> None:
    async with FakeOpenAI(Reply(pieces=(DONE,)), otherwise=refused(418)) as server:
        server.add(Reply(pieces=(delta(content="x"),)))
        statuses = [(await post(server)).status_code for _ in range(3)]
        await server.asked(3)
    assert statuses == [200, 200, 418]
    assert [asked.path for asked in server.requests] == ["/v1/chat/completions"] * 3
    assert server.requests[0].body == {"model": "m"}
    assert server.connections == 3


async def test_what_is_left_to_otherwise_may_follow_from_what_was_asked() -> None:
    async with FakeOpenAI(otherwise=lambda asked: refused(500 + len(asked.body))) as server:
        assert (await post(server)).status_code == 501


async def test_without_a_reply_left_it_says_so() -> None:
    async with FakeOpenAI() as server:
        assert (await post(server)).status_code == 500


async def test_a_cut_drops_the_connection() -> None:
    async with FakeOpenAI(Reply(pieces=(delta(content="a"), Cut()))) as server:
        with pytest.raises(httpx2.RemoteProtocolError):
            await post(server)


async def test_a_caller_that_hangs_up_is_noticed() -> None:
    async with FakeOpenAI(reply_of([Say("a"), Hang()])) as server:
        with anyio.move_on_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(post, server)
                await server.asked(1)
                assert server.open_calls == 1
                group.cancel_scope.cancel()
            await server.left()
        assert server.open_calls == 0


async def test_it_ends_although_a_call_is_open() -> None:
    endless = reply_of([Until(anyio.Event()), Stop(StopReason.LENGTH)])
    async with anyio.create_task_group() as group, FakeOpenAI(endless) as server:
        group.start_soon(_ignoring_errors, server)
        await server.asked(1)
    assert server.open_calls == 0


async def _ignoring_errors(server: FakeOpenAI) -> None:
    with pytest.raises(httpx2.HTTPError):
        await post(server)
