import httpx2
import pytest

from roost.core.secrets import Secret
from roost.models.endpoints import Endpoint
from roost.models.library.traffic import MARK, Traffic
from roost.testing.fake_http import FakeEndpoint, Reply
from roost.testing.scripts import Hang

LINES = "a\u2028b\u2029c\u0085d é â\n".encode()


async def read(reply: Reply, headers: dict[str, str] | None = None) -> tuple[FakeEndpoint, bytes]:
    async with FakeEndpoint(reply) as server:
        traffic = Traffic(Endpoint(provider="local", base_url=server.url, key=Secret("k")), "x-api-key")
        async with traffic.call() as mark:
            response = await traffic.client.post(server.url, json={}, headers={**(headers or {}), MARK: mark})
        await traffic.client.aclose()
    return server, response.content


@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_nothing_but_a_line_end_reads_as_one_wherever_the_bytes_are_cut(size: int) -> None:
    pieces = tuple(LINES[start : start + size] for start in range(0, len(LINES), size))
    _, found = await read(Reply(pieces=pieces))
    assert found == rb"a\u2028b\u2029c\u0085d " + "é â\n".encode()


async def test_bytes_that_end_within_a_character_are_passed_on() -> None:
    _, found = await read(Reply(pieces=(b"x\xe2\x80",)))
    assert found == b"x\xe2\x80"


async def test_packed_bytes_are_left_as_they_are() -> None:
    with pytest.raises(httpx2.DecodingError):
        await read(Reply(pieces=(LINES,), headers=(("content-encoding", "gzip"),)))


async def test_only_what_is_meant_is_sent() -> None:
    server, _ = await read(Reply(pieces=(b"x",)), {"X-Stainless-Os": "Linux", "OpenAI-Organization": "org"})
    found = server.requests[0].headers
    assert set(found) == {
        "host",
        "content-type",
        "content-length",
        "accept",
        "accept-encoding",
        "connection",
        "x-api-key",
    }
    assert (found["x-api-key"], found["accept-encoding"]) == ("k", "identity")


async def test_a_call_that_is_over_is_not_read_on() -> None:
    async with FakeEndpoint(Reply(pieces=(b"x", Hang()))) as server:
        traffic = Traffic(Endpoint(provider="local", base_url=server.url), "x-api-key")
        async with traffic.call() as mark:
            request = traffic.client.build_request("POST", server.url, headers={MARK: mark})
            await traffic.client.send(request, stream=True)
            assert server.open_calls == 1
        await server.left()
        await traffic.client.aclose()


async def test_a_request_of_no_call_is_let_be() -> None:
    async with FakeEndpoint(Reply(pieces=(b"x",))) as server:
        traffic = Traffic(Endpoint(provider="local", base_url=server.url), "x-api-key")
        assert (await traffic.client.get(server.url)).content == b"x"
        await traffic.client.aclose()
