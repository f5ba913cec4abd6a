import anyio
import pytest
from starlette.requests import Request
from starlette.types import Message

from roost.server.callers import Callers
from roost.server.http.pages import Turned
from roost.server.http.unread import MOST, MOST_BYTES, Unread


class Body:
    """One that comes in pieces, as it is told to."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[Message](10)
        self.request = Request({"type": "http", "headers": [], "method": "POST"}, self._receive.receive)

    def came(self, piece: bytes, *, more: bool) -> None:
        self._send.send_nowait({"type": "http.request", "body": piece, "more_body": more})

    def close(self) -> None:
        self._send.close()
        self._receive.close()


async def _hold(unread: Unread, body: Body, most: int, told: list[tuple[Body, Turned]]) -> None:
    try:
        await unread.read(body.request, most, Callers())
    except Turned as turned:
        told.append((body, turned))


@pytest.mark.requirement("S23")
@pytest.mark.parametrize(
    ("most", "places"), [(MOST_BYTES // 2, 2), (MOST_BYTES, 1), (MOST_BYTES * 2, 1), (1, MOST)]
)
async def test_so_many_bytes_and_bodies_are_held_and_who_takes_longest_makes_room(
    most: int, places: int
) -> None:
    unread, told, bodies = Unread(), list[tuple[Body, Turned]](), [Body() for _ in range(places + 1)]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for body in bodies[:-1]:
                group.start_soon(_hold, unread, body, most, told)
                await anyio.wait_all_tasks_blocked()
            assert (len(unread), told) == (places, [])
            bodies[-1].came(b"x", more=False)
            assert await unread.read(bodies[-1].request, most, Callers()) == b"x"
            await anyio.wait_all_tasks_blocked()
            ((longest, turned),) = told
            assert (len(unread), longest) == (places - 1, bodies[0])
            assert (turned.status, turned.retry_ms) == (503, 1_000)
            group.cancel_scope.cancel()
    for body in bodies:
        body.close()
