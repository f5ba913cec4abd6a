"""`roost gateway run`: serve clients until interrupted."""

import signal
import sys

import anyio

from roost import __version__
from roost.app import Served, open_gateway
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
            _say(f"open {_page(served)} in a browser")
            _say("Ctrl-C stops it; `roost chat` talks to it on another terminal")
            async for _ in signals:
                break
            _say("stopping")
    return 0


def _page(served: Served) -> str:
    """With the token only where a person reads it: what is written to a file may be read by others."""
    if served.token_file is None or not sys.stdout.isatty():
        return served.page
    return f"{served.page}#token={served.token_file.read_text(encoding='utf-8').strip()}"


def _wait(error: RoostError) -> None:
    _say(f"waiting: {error}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
