"""Requests against servers on this machine that do not keep to the rules."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import pytest

from roost.core.models import FailureKind, ModelFailed
from roost.core.secrets import Secret
from roost.models.endpoints import Endpoint
from roost.models.posts import Posts

KEY = {"authorization": "Bearer sk-posts-secret"}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
LIMIT_S = 30

Serve: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served(serve: Serve) -> AsyncIterator[str]:
    """Where a server does with each connection what it is given to do, and holds it open until the end."""
    over = asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)
        await over.wait()
        writer.close()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}"
        over.set()


def saying(answer: bytes, heads: list[bytes] | None = None) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if heads is not None:
            heads.append(head)
        writer.write(answer)

    return serve


def posts_to(base_url: str, *, idle_ms: int = 1000 * LIMIT_S) -> Posts:
    return Posts(Endpoint(provider="local", base_url=base_url, idle_ms=idle_ms), "/chat")


async def answer(posts: Posts, body: bytes = b"{}") -> bytes:
    try:
        async with asyncio.timeout(LIMIT_S), posts.post(body, KEY) as reply:
            return b"".join([read async for read in reply])
    finally:
        await posts.aclose()


async def failure(posts: Posts, body: bytes = b"{}") -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await answer(posts, body)
    assert "secret" not in f"{failed.value} {failed.value!r} {failed.value.__cause__!r}"
    return failed.value


async def test_what_is_no_part_of_an_answer_ends_it_however_long_the_connection_stays() -> None:
    heard = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(CHUNKED + b"2\r\nok\r\n")(reader, writer)
        await heard.wait()
        writer.write(b"Bad Gateway\r\n")

    async with served(serve) as place:
        posts = posts_to(f"http://{place}", idle_ms=1_000)
        async with asyncio.timeout(LIMIT_S), posts.post(b"{}", KEY) as reply:
            assert await anext(reply) == b"ok"
            heard.set()
            with pytest.raises(ModelFailed) as failed:
                await anext(reply)
        await posts.aclose()
    assert failed.value.kind is FailureKind.TRANSIENT


async def test_a_head_that_makes_no_sense_is_a_passing_failure_that_holds_no_key() -> None:
    twice = HEAD + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n"
    async with served(saying(twice)) as place:
        assert (await failure(posts_to(f"http://{place}"))).kind is FailureKind.TRANSIENT


async def test_a_server_that_reads_nothing_is_given_up() -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """It reads as much as its buffer takes by itself."""

    async with served(deaf) as place:
        endpoint = Endpoint(provider="local", base_url=f"http://{place}", connect_ms=2_000, idle_ms=100)
        failed = await failure(Posts(endpoint, "/chat"), b" " * (32 << 20))
    assert failed.kind is FailureKind.TRANSIENT
    assert "nothing for 100 ms" in failed.message


async def test_many_headers_are_taken() -> None:
    many = b"".join(b"x-%d: 1\r\n" % number for number in range(300))
    async with served(saying(HEAD + many + b"content-length: 2\r\n\r\nok")) as place:
        assert await answer(posts_to(f"http://{place}")) == b"ok"


async def test_an_address_is_called_as_it_is_written_and_who_it_names_goes_before_a_key() -> None:
    heads: list[bytes] = []
    async with served(saying(HEAD + b"content-length: 2\r\n\r\nok", heads)) as place:
        assert await answer(posts_to(f"http://{place}/v1%3Abeta")) == b"ok"
        assert await answer(posts_to(f"http://me:word@{place}/v1")) == b"ok"
    written, named = (head.decode().lower() for head in heads)
    assert written.startswith("post /v1%3abeta/chat ")
    assert "authorization: bearer sk-posts-secret\r\n" in written
    assert "authorization: basic " in named
    assert "bearer" not in named


def test_what_was_never_used_is_closed_with_nothing_made() -> None:
    endpoint = Endpoint(provider="local", base_url="https://127.0.0.1:1", key=Secret("sk"))
    # Where no loop runs, nothing could be made.
    with pytest.raises(StopIteration):
        Posts(endpoint, "/chat").aclose().send(None)
