"""Programs as `python -m` runs them, in processes that begin with Roost loaded: that takes longer than most of what
they do. Where it matters how a program begins, it is begun by itself."""

import os
import runpy
import sys
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import anyio

PROCESSES = get_context("forkserver")
# Not what loads `readline`, which looks at its terminal only once.
PROCESSES.set_forkserver_preload([
    "asyncpg",
    "roost.app.finding",
    "roost.app.opening",
    "roost.app.serving",
    "roost.cli.agent",
    "roost.cli.conversation",
    "roost.cli.drawing",
    "roost.cli.main",
    "roost.cli.own",
    "roost.cli.status",
    "roost.client.trust",
    "roost.config.source",
    "roost.models.openai",
    "roost.stores.postgres",
    "roost.stores.sqlite.restoring",
    "roost.testing.builders",
])  # fmt: skip


def started(
    module: str, *arguments: str, streams: tuple[int, int, int], environ: Mapping[str, str] | None = None
) -> BaseProcess:
    """In a session of its own, whose terminal is its input where that is one. `streams` may be closed when it returns."""
    held = [Connection(os.dup(stream)) for stream in streams]
    process = PROCESSES.Process(target=_run, args=(module, arguments, held, environ), daemon=True)
    process.start()
    for stream in held:
        stream.close()
    return process


def signalled(process: BaseProcess, signal: int) -> None:
    """One that is over hears nothing."""
    assert process.pid is not None
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal)


async def ended(process: BaseProcess) -> int | None:
    """Wait for its end; its code."""
    # Several may wait, each by a descriptor of its own.
    sentinel = os.dup(process.sentinel)
    try:
        await anyio.wait_readable(sentinel)
    finally:
        os.close(sentinel)
    process.join()
    return process.exitcode


def _run(
    module: str, arguments: tuple[str, ...], streams: list[Connection], environ: Mapping[str, str] | None
) -> None:
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    if os.isatty(0):
        # The first terminal that a new session opens is its own: Ctrl-C reaches it.
        os.close(os.open(os.ttyname(0), os.O_RDWR))
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115 — they stay
    if environ is not None:
        os.environ.clear()  # noqa: TID251 — it is this process's own
        os.environ.update(environ)  # noqa: TID251 — see above
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
