import asyncio
import socket

import pytest

from roost.core.errors import ConfigInvalid
from roost.server.listening import bind


async def test_what_is_written_to_a_client_goes_at_once_on_asyncios_own_loop_too() -> None:
    """Else the second of two small writes waits until the first is acknowledged: 40 ms of every answer."""
    at_once: list[int] = []

    class Noting(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted = transport.get_extra_info("socket")
            at_once.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    listening = bind("127.0.0.1", 0)
    server = await asyncio.get_running_loop().create_server(Noting, sock=listening)
    async with server:
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    assert all(at_once)
    assert at_once


def test_a_port_that_is_taken_is_told_with_what_to_do() -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(ConfigInvalid, match="is taken") as told:
            bind(*taken.getsockname())
    assert "--port" in told.value.hint
