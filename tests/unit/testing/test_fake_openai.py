"""The endpoint on this machine, spoken to without an adapter."""

import json

import httpx2
import pytest

from roost.core.messages import ToolCall, Usage
from roost.core.models import FailureKind
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import CallTool, Fail, Say, Script, Spend, Think

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
