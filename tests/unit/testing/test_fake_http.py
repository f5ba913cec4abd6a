"""The server on this machine, spoken to without an adapter."""

import anyio
import httpx2
import pytest

from roost.core.messages import StopReason
from roost.testing.fake_http import Cut, FakeEndpoint, Reply, event, refusal_of
from roost.testing.fake_openai import DONE, delta, refused, reply_of
from roost.testing.scripts import Hang, Say, Stop, Until


async def post(server: FakeEndpoint) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(f"{server.url}/ask", json={"model": "m"})


async def test_requests_are_kept_and_answered_in_order_then_otherwise() -> None:
    async with FakeEndpoint(Reply(pieces=(DONE,)), otherwise=refused(418)) as server:
        server.add(Reply(pieces=(delta(content="x"),)))
        statuses = [(await post(server)).status_code for _ in range(3)]
        await server.asked(3)
    assert statuses == [200, 200, 418]
    assert [asked.path for asked in server.requests] == ["/ask"] * 3
    assert server.requests[0].body == {"model": "m"}
    assert server.connections == 3


async def test_what_is_left_to_otherwise_may_follow_from_what_was_asked() -> None:
    async with FakeEndpoint(otherwise=lambda asked: refused(500 + len(asked.body))) as server:
        assert (await post(server)).status_code == 501


async def test_without_a_reply_left_it_says_so() -> None:
    async with FakeEndpoint() as server:
        assert (await post(server)).status_code == 500


async def test_a_cut_drops_the_connection() -> None:
    async with FakeEndpoint(Reply(pieces=(delta(content="a"), Cut()))) as server:
        with pytest.raises(httpx2.RemoteProtocolError):
            await post(server)


async def test_a_caller_that_hangs_up_is_noticed() -> None:
    async with FakeEndpoint(reply_of([Say("a"), Hang()])) as server:
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
    async with anyio.create_task_group() as group, FakeEndpoint(endless) as server:
        group.start_soon(_ignoring_errors, server)
        await server.asked(1)
    assert server.open_calls == 0


async def _ignoring_errors(server: FakeEndpoint) -> None:
    with pytest.raises(httpx2.HTTPError):
        await post(server)


def test_an_event_may_have_a_name() -> None:
    assert event({"a": "b"}) == b'data: {"a":"b"}\n\n'
    assert event({"a": "b"}, "ping") == b'event: ping\ndata: {"a":"b"}\n\n'


async def test_a_refusal_may_say_how_long_to_wait() -> None:
    async with FakeEndpoint(refusal_of(429, {"no": "more"}, 2_500), refusal_of(500, {})) as server:
        limited, broken = [await post(server) for _ in range(2)]
    assert (limited.status_code, limited.headers["retry-after"], limited.json()) == (
        429,
        "2.5",
        {"no": "more"},
    )
    assert "retry-after" not in broken.headers
