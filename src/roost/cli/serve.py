"""`roost gateway run`: serve clients until interrupted."""

import gc
import signal
import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

import anyio
from cyclopts import Parameter

from roost import __version__
from roost.app.serving import Served, open_gateway
from roost.cli.here import LOCAL, Local
from roost.config import Loaded, Settings
from roost.config.amounts import SpellingError
from roost.config.gateway import Bind
from roost.config.logs import ConsoleStyle
from roost.core.errors import InvalidInput, RoostError

PORTS = 65_535
OFTEN = (5_000, 10, 10)


def run(
    *,
    port: Annotated[int | None, Parameter(help="TCP port; 0 takes one that is free.")] = None,
    bind: Annotated[str | None, Parameter(help="loopback, lan or an IP address.")] = None,
    log_format: Annotated[
        ConsoleStyle | None, Parameter(help="The form of the lines on the error output.")
    ] = None,
    here: Local = LOCAL,
) -> int:
    """Serve until interrupted."""
    if port is not None and not 0 <= port <= PORTS:
        raise InvalidInput(f"{port} is no port", hint=f"choose one up to {PORTS}")
    loaded = here.loaded()
    if log_format is not None:
        loaded = _with_style(loaded, log_format)
    serving = partial(serve, loaded, port, None if bind is None else _bind(bind))
    return anyio.run(serving, backend_options={"use_uvloop": True})


async def serve(loaded: Loaded, port: int | None, address: Bind | None) -> int:
    """Serve on the configured address, or on another that was asked for."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as group:
            leaving = _Leaving(group.cancel_scope)
            group.start_soon(leaving.hear, signals)
            async with open_gateway(
                loaded, version=__version__, tell=_wait, port=port, address=address
            ) as served:
                leaving.serves = True
                look_after_garbage()
                group.start_soon(leaving.heed, served.leaving)
                _introduce(loaded, served)
                await leaving.asked.wait()
                _say(
                    f"stopping; what is under way may take {served.drain_ms} ms to end, and another Ctrl-C ends it at once"
                )
                await served.drain()
            group.cancel_scope.cancel()
    return 0


def look_after_garbage() -> None:
    """What was loaded to serve stays as long as this process: the collector need not look through it, and has an eye on the
    rest. Not more often than this, as most of what it would look at is still needed: a turn makes thousands of values."""
    gc.freeze()
    gc.set_threshold(*OFTEN)


class _Leaving:
    """How it is asked to leave: by a first signal or by a client. Another signal, or one before it serves, ends it at once."""

    def __init__(self, whole: anyio.CancelScope) -> None:
        self._whole = whole
        self.serves = False
        self.asked = anyio.Event()

    async def hear(self, signals: AsyncIterator[signal.Signals]) -> None:
        async for _ in signals:
            if not self.serves or self.asked.is_set():
                break
            self.asked.set()
        self._whole.cancel()

    async def heed(self, client: anyio.Event) -> None:
        await client.wait()
        self.asked.set()


def _introduce(loaded: Loaded, served: Served) -> None:
    token = f"the token is in {served.token_file}" if served.token_file else "with the configured credential"
    _say(f"Roost {__version__} listens on {served.url}; {token}")
    if loaded.certificate is not None:
        from roost.client.trust import fingerprint_of  # noqa: PLC0415 — a client loads more than is asked of it here

        _say(f"its certificate is {fingerprint_of(loaded.certificate[0])}")
    _say(f"open {_page(served)} in a browser")
    _say("Ctrl-C stops it; `roost chat` talks to it on another terminal")


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


def _with_style(loaded: Loaded, style: ConsoleStyle) -> Loaded:
    def change(settings: Settings) -> Settings:
        wanted = settings.logging.model_copy(update={"console_style": style})
        return settings.model_copy(update={"logging": wanted})

    return loaded.with_change(change)


def _bind(text: str) -> Bind:
    try:
        return Bind.parse(text)
    except SpellingError:
        raise InvalidInput(f"{text!r} is not loopback, lan or an IP address") from None
