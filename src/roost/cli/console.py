"""Talk to the agent on this terminal, through the same engine as every channel."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable

import anyio

from roost import __version__
from roost.app import open_engine
from roost.channels.terminal import NAME, PERSON, Terminal, typed_lines
from roost.config import Loaded
from roost.core.admission import ChannelPolicy
from roost.core.feeds import ListGap, SessionChanged, SessionGone
from roost.core.leases import Gateway
from roost.core.principals import OWNER
from roost.core.visibility import PersonCaller

DOOR = ChannelPolicy(owner_ids=(f"{NAME}:{PERSON.id}",))


async def talk(loaded: Loaded) -> None:
    """Read lines until the input ends; what was said by then is still answered. An interrupt stops what is going on,
    and leaves if there is nothing."""
    terminal = Terminal(typed_lines(sys.stdin.fileno()), sys.stdout)
    async with (
        open_engine(loaded, [terminal], {NAME: DOOR}, version=__version__) as engine,
        engine.serving(_gateway()),
        anyio.create_task_group() as group,
    ):

        async def preview() -> None:
            async with engine.feed.subscribe_all(PersonCaller(principal=OWNER)) as items:
                async for item in items:
                    if not isinstance(item, SessionChanged | SessionGone | ListGap):
                        terminal.preview(item)

        asked: set[str] = set()

        async def stop() -> bool:
            underway = set(engine.stops.underway) - asked
            asked.update(underway)
            if underway:
                await terminal.stop()
            return bool(underway)

        group.start_soon(preview)
        group.start_soon(_interrupts, stop, group.cancel_scope)
        await terminal.ended.wait()
        await engine.settled()
        group.cancel_scope.cancel()


async def _interrupts(stop: Callable[[], Awaitable[bool]], leave: anyio.CancelScope) -> None:
    """Each interrupt stops something, or leaves."""
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            if not await stop():
                leave.cancel()


def _gateway() -> Gateway:
    """A name of its own: a second terminal on the same store is refused, instead of taking it from the first."""
    return Gateway(name=f"{NAME}-{os.getpid()}", holder=f"process {os.getpid()}")
