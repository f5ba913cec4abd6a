"""Runs a program as it is, with a keeper around it that leaves nothing of it behind (Linux)."""

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import anyio

from roost.core.errors import Forbidden, InvalidInput
from roost.core.tools import Excess, ProgramLimits
from roost.ports import Ended, ToolCommand
from roost.sandboxes import keeper
from roost.sandboxes.keeper import Order, Report

_CHUNK = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a program that must end may take after being asked, after being killed, and to be read out; and how
    long its keeper may take for all of it."""

    asked_s: float = 2.0
    killed_s: float = 5.0
    drained_s: float = 1.0
    kept_s: float = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start, with this environment and no other; `disk` is a folder where it may write."""

    argv: tuple[str, ...]
    folder: str
    environment: tuple[tuple[str, str], ...]
    timeout_ms: int
    limits: ProgramLimits = field(default_factory=ProgramLimits)
    disk: str = "/"


class Processes:
    """Runs commands unconfined. A sandboxed place is refused: it is not one here."""

    def __init__(self, patience: Patience | None = None) -> None:
        self._patience = patience or Patience()

    async def run(self, command: ToolCommand, output: Callable[[bytes], None]) -> Ended:
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
    with _kept(program, patience) as (process, control):
        assert process.stdout is not None
        drained = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_relay, process.stdout.fileno(), output, drained)
            try:
                # The keeper sees to the time; this is for one that does nothing more.
                with anyio.move_on_after(program.timeout_ms / 1000 + patience.kept_s):
                    await _exit_of(process.pid)
            finally:
                control.shutdown(socket.SHUT_WR)
                with anyio.move_on_after(patience.kept_s, shield=True):
                    await _exit_of(process.pid)
            with anyio.move_on_after(patience.drained_s):
                await drained.wait()
            tasks.cancel_scope.cancel()
        report = _report(control)
    if report.refused is not None:
        raise _not_started(report.refused)
    if report.timed_out or report.excess is not None:
        excess = Excess(report.excess) if report.excess else None
        return Ended(status=None, timed_out=report.timed_out, excess=excess)
    return Ended(status=None if report.status is None or report.status < 0 else report.status)


@contextmanager
def _kept(program: Program, patience: Patience) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """The program in the care of its keeper, and the socket that holds it."""
    control, theirs = socket.socketpair()
    with control:
        with theirs:
            process = _start(program, patience, theirs)
        assert process.stdout is not None
        with process.stdout:
            try:
                yield process, control
            finally:
                process.kill()
                process.wait()


def _start(program: Program, patience: Patience, control: socket.socket) -> subprocess.Popen[bytes]:
    order = json.dumps(_order(program, patience)._asdict())
    try:
        return subprocess.Popen(  # noqa: S603 — running what it is given is its task
            (sys.executable, "-I", "-S", keeper.__file__, order, *program.argv),
            cwd=program.folder,
            env={},
            stdin=control.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _not_started(str(error)) from error


def _order(program: Program, patience: Patience) -> Order:
    limits = program.limits
    of_each = (
        (resource.RLIMIT_DATA, limits.memory),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
    )
    return Order(
        environment=dict(program.environment),
        longest_s=program.timeout_ms / 1000,
        asked_s=patience.asked_s,
        killed_s=patience.killed_s,
        rlimits=tuple((number, value) for number, value in of_each if value is not None),
        processes=limits.processes,
        memory=limits.memory,
        disk=program.disk,
        free_disk=limits.free_disk,
    )


def _report(control: socket.socket) -> Report:
    """What the keeper said; one that was killed or had to be given up said nothing."""
    control.setblocking(False)
    with suppress(BlockingIOError):
        if text := control.recv(_CHUNK):
            return Report(**json.loads(text))
    return Report()


def _not_started(reason: str) -> InvalidInput:
    return InvalidInput(
        f"the program cannot be started: {reason}", hint="see whether its file and folder exist"
    )


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
