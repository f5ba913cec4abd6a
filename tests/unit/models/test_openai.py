"""The adapter against an endpoint on this machine: what the contract does not ask of every model."""

import gzip
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from roost.core.errors import InvalidInput
from roost.core.messages import AssistantMessage, Text, text_of
from roost.core.models import FailureKind, Finished, ModelFailed
from roost.core.secrets import Secret
from roost.models.endpoints import Endpoint
from roost.models.openai import OpenAIModel
from roost.testing.clock import FakeClock
from roost.testing.fake_http import Cut, Reply, event
from roost.testing.fake_openai import DONE, KEEP_ALIVE, FakeOpenAI, delta, refused, reply_of
from roost.testing.providers import openai_violations
from roost.testing.scripts import Fail, Hang, Say, Until, says
from tests.asking import request

KEY = Secret("sk-unit-secret")
SECONDS = 60
HELLO = (delta(content="hel"), delta(content="lo"), delta(finish="stop"))
JSON = (("content-type", "application/json; charset=utf-8"),)


@asynccontextmanager
async def reached(
    *replies: Reply, key: Secret | None = KEY, headers: dict[str, Secret] | None = None, idle_ms: int = 5_000
) -> AsyncIterator[tuple[FakeOpenAI, OpenAIModel]]:
    async with FakeOpenAI(*replies) as server:
        endpoint = Endpoint(
            provider="local",
            base_url=f"{server.base_url}/",
            key=key,
            headers=headers or {},
            params={"temperature": 0},
            idle_ms=idle_ms,
        )
        model = OpenAIModel(endpoint, FakeClock())
        yield server, model
        await model.aclose()


async def answer(model: OpenAIModel, text: str = "hello") -> AssistantMessage:
    async with model.stream(request(text)) as events:
        seen = [event async for event in events]
    assert isinstance(seen[-1], Finished)
    return seen[-1].message


async def failure(*replies: Reply, idle_ms: int = 5_000) -> ModelFailed:
    async with reached(*replies, idle_ms=idle_ms) as (_, model):
        with pytest.raises(ModelFailed) as failed:
            await answer(model)
    return failed.value


async def test_the_request_is_what_the_endpoint_wants() -> None:
    async with reached(reply_of(says("ok")), headers={"X-Team": Secret(" blue ")}) as (server, model):
        await answer(model)
    asked = server.requests[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY.reveal()}"
    assert asked.headers["x-team"] == "blue"
    assert asked.headers["content-type"] == "application/json"
    assert (asked.body["model"], asked.body["stream"], asked.body["temperature"]) == ("small", True, 0)
    messages = asked.body["messages"]
    assert isinstance(messages, list)
    assert openai_violations({"messages": messages[1:]}) == ()


async def test_a_long_request_is_sent_whole_and_a_long_header_of_its_answer_is_taken() -> None:
    said, named = "word " * 500_000, ("x-policy", "p" * 20_000)
    reply = reply_of(says("ok"))
    async with reached(replace(reply, headers=(*reply.headers, named))) as (server, model):
        assert text_of(await answer(model, said)) == "ok"
    messages = server.requests[0].body["messages"]
    assert isinstance(messages, list)
    assert messages[-1] == {"role": "user", "content": said}


async def test_without_a_key_no_authorization_is_sent_and_a_header_may_be_it() -> None:
    async with reached(reply_of(says("ok")), key=None) as (server, model):
        await answer(model)
    assert "authorization" not in server.requests[0].headers
    async with reached(reply_of(says("ok")), headers={"Authorization": Secret("Token t")}) as (server, model):
        await answer(model)
    assert server.requests[0].headers["authorization"] == "Token t"


async def test_answers_one_after_another_share_a_connection() -> None:
    async with reached(*(reply_of(says(f"answer {n}")) for n in range(5))) as (server, model):
        assert [text_of(await answer(model)) for _ in range(5)] == [f"answer {n}" for n in range(5)]
        assert server.connections == 1


async def test_a_reader_that_stops_at_the_end_leaves_the_connection_usable() -> None:
    async with reached(reply_of(says("a")), reply_of(says("b"))) as (server, model):
        for _ in range(2):
            async with model.stream(request()) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        break
        assert server.connections == 1


async def test_an_answer_that_was_left_is_not_read_by_the_next_call() -> None:
    gate = anyio.Event()
    async with reached(reply_of([Say("old"), Until(gate), Say("old")]), reply_of(says("new"))) as (
        server,
        model,
    ):
        async with model.stream(request()) as events:
            await anext(events)
        gate.set()
        assert text_of(await answer(model)) == "new"
        assert server.connections == 2


@pytest.mark.parametrize(
    "pieces",
    [
        (KEEP_ALIVE, *HELLO, KEEP_ALIVE, DONE),
        (*HELLO, DONE, delta(content="after the end")),
        HELLO,
        (b"".join((*HELLO, DONE)),),
        tuple(bytes([byte]) for byte in b"".join((*HELLO, DONE))),
        (b"".join((*HELLO, DONE)).replace(b"\n", b"\r\n"),),
        (b"".join(HELLO).removesuffix(b"\n\n"),),
        (*HELLO, Cut()),
        (*HELLO, DONE, Cut()),
        (*HELLO, DONE, Hang()),
        (delta(content="hel"), delta(content="lo"), DONE),
    ],
    ids=[
        "comments",
        "more after the end",
        "no mark",
        "one read",
        "byte by byte",
        "carriage returns",
        "no last line end",
        "cut after the reason",
        "cut after the mark",
        "open after the mark",
        "no reason",
    ],
)
async def test_an_answer_is_read_whole_however_it_is_cut_and_ended(pieces: tuple[bytes, ...]) -> None:
    async with reached(Reply(pieces=pieces)) as (_, model):
        with anyio.fail_after(SECONDS):
            assert (await answer(model)).content == (Text("hello"),)


async def test_an_answer_that_does_not_stream_is_taken() -> None:
    message = {"role": "assistant", "content": "hello"}
    whole = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    async with reached(Reply(pieces=(whole[:9], whole[9:]), headers=JSON)) as (_, model):
        assert (await answer(model)).content == (Text("hello"),)


async def test_a_compressed_answer_is_taken() -> None:
    headers = (("content-type", "text/event-stream"), ("content-encoding", "gzip"))
    async with reached(Reply(pieces=(gzip.compress(b"".join((*HELLO, DONE))),), headers=headers)) as (
        _,
        model,
    ):
        assert (await answer(model)).content == (Text("hello"),)


@pytest.mark.parametrize(
    "pieces",
    [
        (delta(content="a"),),
        (delta(content="a"), Cut()),
        (delta(content="a"), b'data: {"choices": [\n\n', DONE),
        (delta(content="a"), b"data: <html>\n\n", DONE),
        (delta(content="a"), event({"error": {"message": "overloaded"}}), Cut()),
        (),
        (Cut(),),
    ],
    ids=["ends", "cut", "half a chunk", "no chunk", "error", "nothing", "cut at once"],
)
async def test_an_answer_that_breaks_off_is_a_passing_failure(pieces: tuple[bytes, ...]) -> None:
    assert (await failure(Reply(pieces=pieces))).kind is FailureKind.TRANSIENT


@pytest.mark.parametrize("pieces", [(Hang(),), (delta(content="a"), Hang())], ids=["at once", "later"])
async def test_silence_beyond_the_limit_is_a_passing_failure(pieces: tuple[bytes, ...]) -> None:
    failed = await failure(Reply(pieces=pieces), idle_ms=30)
    assert failed.kind is FailureKind.TRANSIENT
    assert "nothing for 30 ms" in failed.message


async def test_an_endpoint_that_is_not_there_is_a_passing_failure() -> None:
    async with FakeOpenAI() as server:
        address = server.base_url
    model = OpenAIModel(Endpoint(provider="local", base_url=address), FakeClock())
    with pytest.raises(ModelFailed) as failed:
        await answer(model)
    await model.aclose()
    assert failed.value.kind is FailureKind.TRANSIENT
    assert "local" in failed.value.message


async def test_an_address_that_leads_elsewhere_is_not_followed() -> None:
    async with FakeOpenAI() as other:
        moved = Reply(status=307, headers=(("location", other.base_url),))
        assert (await failure(moved)).kind is FailureKind.PERMANENT
        assert other.requests == []


async def test_a_long_refusal_is_read_only_so_far_and_a_broken_one_still_counts() -> None:
    long = Reply(status=400, pieces=(b"x" * 100_000, Hang()))
    with anyio.fail_after(SECONDS):
        assert (await failure(long)).kind is FailureKind.PERMANENT
        assert (await failure(Reply(status=401, pieces=(b"{", Cut())))).kind is FailureKind.AUTH


async def test_how_long_to_wait_is_passed_on() -> None:
    failed = await failure(refused(429, "slow down", retry_after="3"))
    assert (failed.kind, failed.retry_after_ms) == (FailureKind.RATE_LIMIT, 3_000)


@pytest.mark.requirement("S24")
@pytest.mark.parametrize(
    "reply",
    [
        *(
            lambda status=status: refused(status, f"bad {KEY.reveal()}")
            for status in (400, 401, 404, 429, 500)
        ),
        lambda: Reply(pieces=(event({"error": {"message": KEY.reveal()}}),)),
        lambda: Reply(pieces=(f"data: {KEY.reveal()}\n\n".encode(),)),
        lambda: reply_of([Say("a"), Fail(FailureKind.TRANSIENT)]),
    ],
)
async def test_no_failure_and_no_log_names_the_key(
    reply: Callable[[], Reply], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    failed = await failure(reply())
    seen: BaseException | None = failed
    while seen is not None:
        assert KEY.reveal() not in f"{seen} {seen!r}"
        seen = seen.__cause__
    assert KEY.reveal() not in caplog.text


@pytest.mark.parametrize("text", ["sk-ä", "sk-a\r\nx-evil: 1", "sk-\u200b"])
async def test_a_key_that_cannot_be_sent_is_told_without_naming_it(text: str) -> None:
    async with reached(reply_of(says("ok")), key=Secret(text)) as (server, model):
        with pytest.raises(ModelFailed) as failed:
            await answer(model)
        assert server.requests == []
    assert failed.value.kind is FailureKind.AUTH
    assert "sk-" not in f"{failed.value!r}{failed.value}"


async def test_a_header_that_cannot_be_sent_is_told_without_naming_its_value() -> None:
    async with reached(reply_of(says("ok")), headers={"bad name": KEY}) as (_, model):
        with pytest.raises(ModelFailed) as failed:
            await answer(model)
    assert failed.value.kind is FailureKind.PERMANENT
    assert failed.value.__cause__ is None


@pytest.mark.parametrize(
    "address", ["", "ftp://host/v1", "http://", "localhost:8000", "http://[::1", "http://h:99999"]
)
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(InvalidInput, match="local"):
        OpenAIModel(Endpoint(provider="local", base_url=address), FakeClock())


async def test_an_address_with_tls_is_not_spoken_to_in_the_clear() -> None:
    async with FakeOpenAI() as server:
        address = server.base_url.replace("http:", "HTTPS:")
        model = OpenAIModel(
            Endpoint(provider="local", base_url=address, key=KEY, connect_ms=100), FakeClock()
        )
        with pytest.raises(ModelFailed) as failed:
            await answer(model)
        await model.aclose()
    assert failed.value.kind is FailureKind.TRANSIENT
    assert "100 ms" in failed.value.message
    assert server.requests == []
