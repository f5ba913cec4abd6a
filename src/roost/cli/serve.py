"""`roost gateway run`: serve clients until interrupted."""

import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio

from roost import __version__
from roost.app import open_gateway
from roost.config import Loaded
from roost.config.gateway import Bind
from roost.core.errors import RoostError


async def serve(loaded: Loaded, port: int | None, address: Bind | None) -> int:
    """Serve on the configured address, or on another that was asked for."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with open_gateway(
            loaded, version=__version__, tell=_wait, port=port, address=address
        ) as served:
            token = (
                f"the token is in {served.token_file}"
                if served.token_file
                else "with the configured credential"
            )
            _say(f"Roost {__version__} listens on {served.url}; {token}")
            _say("any client of gateway protocol 4 can talk to it; docs/gateway.md says how")
            _say("Ctrl-C stops it; `roost chat` talks to it on another terminal")
            async for _ in signals:
                break
            _say(
                f"stopping; what is under way may take {served.drain_ms} ms to end, and another Ctrl-C ends it at once"
            )
            await _unless(signals, served.drain)
    return 0


async def _unless(signals: AsyncIterator[signal.Signals], work: Callable[[], Awaitable[None]]) -> None:
    """Do it, until the next signal."""
    async with anyio.create_task_group() as group:

        async def give_up() -> None:
            async for _ in signals:
                break
            group.cancel_scope.cancel()

        group.start_soon(give_up)
        await work()
        group.cancel_scope.cancel()


def _wait(error: RoostError) -> None:
    _say(f"waiting: {error}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
