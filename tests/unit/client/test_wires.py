"""A WebSocket to a gateway; what goes over it is tried on a real port in `tests/e2e`."""

import pytest

from roost.client import Trust, Unreachable
from roost.client.wires import dialing
from roost.core.errors import InvalidInput
from roost.server.listening import bind


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
