"""A WebSocket to a gateway; what goes over it is tried on a real port in `tests/e2e`."""

import asyncio

import pytest

from roost.client import Trust, Unreachable
from roost.client.wires import dialing
from roost.core.errors import InvalidInput
from roost.server.listening import bind

# An alert, as one end tells the other that there is nothing they both speak.
HANDSHAKE_FAILURE = bytes.fromhex("15030300020228")


async def test_where_nobody_listens_nobody_is_reached() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unreachable, match="roost gateway run"):
        async with dialing(f"ws://127.0.0.1:{port}", Trust())():
            pass


async def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(InvalidInput, match="ws://"):
        async with dialing("http//nowhere", Trust())():
            pass


async def test_what_fails_in_tls_is_told_in_its_own_words() -> None:
    """Its errors have numbers that mean something else to the system."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(HANDSHAKE_FAILURE)
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unreachable, match=r"TLS failed: .*handshake failure"):
            async with dialing(f"wss://127.0.0.1:{port}", Trust())():
                pass
