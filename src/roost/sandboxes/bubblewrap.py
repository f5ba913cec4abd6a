"""Runs a program inside bubblewrap: its own processes, no host files but the system's, no network unless allowed.

The workspace lies at its own path, bound as the place says; without access an empty folder that is gone
afterwards stands there. Everything else that can be written is gone afterwards too.
bubblewrap itself is started with an empty environment: inside, /proc/1/environ shows it.
"""

import os
import pwd
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeAlias

from roost.core.errors import Forbidden
from roost.core.tools import Place, ProgramLimits, WorkspaceAccess
from roost.ports import Ended, ToolCommand
from roost.sandboxes.processes import Patience, Processes, Program, run_program

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_LINKED_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/ssl/certs",
)
_NETWORK_SETTINGS = ("/etc/resolv.conf", "/etc/hosts", "/etc/services", "/etc/protocols")
_SYSTEM = ("/usr", "/etc", "/proc", "/dev", "/sys", "/run", "/boot", *_LINKED_FOLDERS)

_Words: TypeAlias = tuple[str, ...]

# The strictest first. The last is for root where user namespaces are turned off; it needs none.
_CONFINEMENTS: tuple[_Words, ...] = (
    ("--unshare-user", "--disable-userns"),
    ("--unshare-user",),
    (),
)
_PROBE_MS = 10_000
_PROBED = Place(
    workspace="/workspace", access=WorkspaceAccess.NONE, sandboxed=True, limits=ProgramLimits(memory=1 << 20)
)


class Bubblewrap:
    """Runs commands of sandboxed places confined, and others as they are."""

    def __init__(self, program: str = "bwrap", patience: Patience | None = None) -> None:
        self._program = program
        self._patience = patience or Patience()
        self._unconfined = Processes(self._patience)
        self._confinement: _Words | None = None

    async def run(self, command: ToolCommand, output: Callable[[bytes], None]) -> Ended:
        if not command.place.sandboxed:
            return await self._unconfined.run(command, output)
        _refuse_broad(command.place.workspace)
        words = await self._working()
        place = command.place
        program = Program(
            argv=(*words, *_walls(place), *_inside(command), "--", *command.argv),
            folder="/",
            environment=(),
            timeout_ms=command.timeout_ms,
            limits=_limits(place),
            disk=place.workspace,
        )
        return await run_program(program, output, self._patience)

    async def _working(self) -> _Words:
        """The program with the strictest confinement that this machine lets it make; found out once."""
        program = shutil.which(self._program, path=SYSTEM_PATH)
        if program is None:
            raise Forbidden(
                "this session runs its programs in a sandbox, and bubblewrap is not installed",
                hint="install it, such as with `apt install bubblewrap`, or set sandbox.mode to off",
            )
        if self._confinement is None:
            self._confinement = await self._probed(program)
        return (program, *self._confinement)

    async def _probed(self, program: str) -> _Words:
        said = bytearray()
        walls = _walls(_PROBED)
        for confinement in _CONFINEMENTS:
            said.clear()
            probe = Program(
                argv=(program, *confinement, *walls, "--", "/bin/true"),
                folder="/",
                environment=(),
                timeout_ms=_PROBE_MS,
            )
            ended = await run_program(probe, said.extend, self._patience)
            if ended.status == 0:
                return confinement
        raise Forbidden(
            f"bubblewrap does not work on this machine: {said.decode('utf-8', 'replace').strip()[:500]}",
            hint="use version 0.7 or newer and allow unprivileged user namespaces, or set sandbox.mode to off",
        )


def _limits(place: Place) -> ProgramLimits:
    """A full disk is nobody's fault who may not write to it."""
    may_write = place.access is WorkspaceAccess.WRITE
    return place.limits if may_write else replace(place.limits, free_disk=None)


def _walls(place: Place) -> _Words:
    """Everything but what to run."""
    return (
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *(() if place.network else ("--unshare-net",)),
        *("--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *_system(place),
        # The settings of the kernel are its own to protect from all but root; who is root outside is it here.
        *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"),
        *_scratch(place, "/dev/shm"),  # noqa: S108 — a mount of its own
        *_scratch(place, "/tmp"),  # noqa: S108 — a mount of its own
        *_workspace(place),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--clearenv"),
    )


def _system(place: Place) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for folder in _LINKED_FOLDERS:
        if os.path.islink(folder):
            yield from ("--symlink", os.readlink(folder), folder)
        else:
            yield from ("--ro-bind-try", folder, folder)
    for path in (*_SETTINGS, *(_NETWORK_SETTINGS if place.network else ())):
        yield from ("--ro-bind-try", path, path)


def _scratch(place: Place, path: str) -> _Words:
    """An empty folder in memory, which is gone afterwards; what is written there counts for no process."""
    most = place.limits.memory
    return (*(() if most is None else ("--size", str(most))), "--tmpfs", path)


def _workspace(place: Place) -> _Words:
    match place.access:
        case WorkspaceAccess.NONE:
            return _scratch(place, place.workspace)
        case WorkspaceAccess.READ:
            return ("--ro-bind", place.workspace, place.workspace)
        case WorkspaceAccess.WRITE:
            return ("--bind", place.workspace, place.workspace)


def _inside(command: ToolCommand) -> Iterator[str]:
    for name, value in command.environment:
        yield from ("--setenv", name, value)
    yield from ("--chdir", command.folder)


def _refuse_broad(workspace: str) -> None:
    """A workspace that is the machine, a part of it, or somebody's home cannot be given to a sandbox."""
    path = PurePosixPath(workspace)
    if not path.is_absolute() or ".." in path.parts:
        raise Forbidden("the workspace is no absolute path", hint="set another workspace for the agent")
    real = PurePosixPath(os.path.realpath(workspace))
    system = any(one.is_relative_to(folder) for one in (path, real) for folder in _SYSTEM)
    if system or PurePosixPath(pwd.getpwuid(os.getuid()).pw_dir).is_relative_to(real):
        raise Forbidden(
            "the workspace is a folder of the system or the whole home folder",
            hint="set a folder of its own as the agent's workspace",
        )
