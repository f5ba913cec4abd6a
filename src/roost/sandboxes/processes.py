"""Runs a program as it is, in a session of its own, and leaves nothing of it behind (Linux)."""

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_hex
from typing import IO

import anyio
from anyio import to_thread

from roost.core.errors import Forbidden, InvalidInput
from roost.ports import Command, Ended
from roost.sandboxes.families import MARK, Family

_CHUNK = 64 << 10
_LOOK_AGAIN_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a program that must end may take after being asked, after being killed, and to be read out."""

    asked_s: float = 2.0
    killed_s: float = 5.0
    drained_s: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start, with this environment and no other."""

    argv: tuple[str, ...]
    folder: str
    environment: tuple[tuple[str, str], ...]
    timeout_ms: int


class Processes:
    """Runs commands unconfined. A sandboxed place is refused: it is not one here."""

    def __init__(self, patience: Patience | None = None) -> None:
        self._patience = patience or Patience()

    async def run(self, command: Command, output: Callable[[bytes], None]) -> Ended:
        if command.place.sandboxed:
            raise Forbidden(
                "this session runs programs in a sandbox only, and none is set up",
                hint="install bubblewrap, such as with `apt install bubblewrap`",
            )
        program = Program(
            argv=command.argv,
            folder=command.folder,
            environment=command.environment,
            timeout_ms=command.timeout_ms,
        )
        return await run_program(program, output, self._patience)


async def run_program(program: Program, output: Callable[[bytes], None], patience: Patience) -> Ended:
    """Run to the end; then, and also when out of time or cancelled, end every process it started."""
    mark = token_hex(16)
    process, pipe = _start(program, mark)
    family = Family(process.pid, mark)
    with pipe:
        drained = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_relay, pipe.fileno(), output, drained)
            try:
                with anyio.move_on_after(program.timeout_ms / 1000) as limit:
                    await _exit_of(process.pid)
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(family, patience)
                    # Only now: an unread exit keeps the number, so no signal could reach a stranger.
                    status = process.poll()
            with anyio.move_on_after(patience.drained_s):
                await drained.wait()
            tasks.cancel_scope.cancel()
    if limit.cancelled_caught:
        return Ended(status=None, timed_out=True)
    return Ended(status=None if status is None or status < 0 else status)


def _start(program: Program, mark: str) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    try:
        process = subprocess.Popen(  # noqa: S603 — running what it is given is its task
            program.argv,
            cwd=program.folder,
            env={**dict(program.environment), MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"the program cannot be started: {error}", hint="see whether its file and folder exist"
        ) from error
    assert process.stdout is not None
    return process, process.stdout


async def _relay(descriptor: int, output: Callable[[bytes], None], drained: anyio.Event) -> None:
    """Hand on what is written as it comes; nothing is kept, so a fast writer waits for us."""
    while True:
        await anyio.wait_readable(descriptor)
        data = os.read(descriptor, _CHUNK)
        if not data:
            break
        output(data)
    drained.set()


async def _exit_of(pid: int) -> None:
    """Wait until a child has ended, without reading its exit."""
    descriptor = os.pidfd_open(pid)
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)


async def _end(family: Family, patience: Patience) -> None:
    """Ask, then kill, until none is left. The bound is for processes that the kernel itself does not let go."""
    for number, seconds in ((signal.SIGTERM, patience.asked_s), (signal.SIGKILL, patience.killed_s)):
        with anyio.move_on_after(seconds):
            while await to_thread.run_sync(family.signal, number):  # noqa: ASYNC110 — nobody tells of strangers' ends
                await anyio.sleep(_LOOK_AGAIN_S)
            return
