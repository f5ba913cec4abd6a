"""One open connection."""

import anyio
import pytest

from roost.client.errors import ConnectionLost, Refused
from roost.client.events import Event
from roost.client.link import Link
from roost.client.memory import ends


async def test_answers_find_who_asked_in_whichever_order_they_come() -> None:
    near, far = ends()
    link = Link(near, list[Event]().append)
    found: dict[str, object] = {}

    async def ask(method: str) -> None:
        found[method] = await link.call(method, {})

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(link.listen)
            group.start_soon(ask, "a")
            group.start_soon(ask, "b")
            await far.receive()
            await far.receive()
            for text in (
                "nonsense",
                '{"type":"res","id":"9","ok":true}',
                '{"type":"res","id":"2","ok":true,"payload":2}',
            ):
                await far.send(text.encode())
            await far.send(b'{"type":"res","id":"1","ok":true,"payload":1}')
            far.hang_up()
    assert found == {"a": 1, "b": 2}
    near.drop()
    far.drop()


async def test_an_answer_that_came_is_heard_although_the_connection_ended_right_after_it() -> None:
    near, far = ends()
    link = Link(near, list[Event]().append)
    found: list[object] = []

    async def ask() -> None:
        found.append(await link.call("a", {}))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(link.listen)
            group.start_soon(ask)
            await far.receive()
            await far.send(b'{"type":"res","id":"1","ok":true,"payload":1}')
            far.hang_up()
    assert found == [1]
    near.drop()
    far.drop()


async def test_of_an_agents_two_answers_the_last_counts() -> None:
    near, far = ends()
    link = Link(near, list[Event]().append)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(link.listen)
            await far.send(b'{"type":"res","id":"1","ok":true,"payload":{"status":"accepted"}}')
            await far.send(
                b'{"type":"res","id":"1","ok":false,"error":{"code":"UNAVAILABLE","message":"broke"}}'
            )
            with pytest.raises(Refused, match="broke"):
                await link.call("agent", {})
            far.hang_up()
    near.drop()
    far.drop()


async def test_who_waits_when_the_gateway_goes_is_told_so() -> None:
    near, far = ends()
    link = Link(near, list[Event]().append)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(link.listen)
            far.hang_up()
            with pytest.raises(ConnectionLost):
                await link.call("health", {})
    with pytest.raises(ConnectionLost):
        await link.call("health", {})
    near.drop()
    far.drop()
