"""Work for callers who may go."""

import anyio
import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from roost.core.errors import InvalidInput
from roost.server.http.streams import while_there


async def _stays() -> Message:
    await anyio.sleep_forever()
    raise AssertionError


async def test_what_is_done_is_answered_and_what_is_refused_is_told_plainly() -> None:
    async def done() -> int:
        return 7

    async def refused() -> int:
        raise InvalidInput("no")

    assert await while_there(_stays, done) == 7
    with pytest.raises(InvalidInput):
        await while_there(_stays, refused)


async def test_work_ends_with_its_caller() -> None:
    messages = [{"type": "http.request"}, {"type": "http.disconnect"}]

    async def goes() -> Message:
        return messages.pop(0)

    with pytest.raises(ClientDisconnect):
        await while_there(goes, anyio.sleep_forever)
