"""Running shell text through a sandbox, and looking for what it left."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio

from roost.core.tools import Place
from roost.ports import Ended, Sandbox, ToolCommand

PATH = (("PATH", "/usr/bin:/bin"),)
# A command line that no other process of the machine has.
NAP = f"sleep {900_000_000 + os.getpid()}"


async def shell(sandbox: Sandbox, where: Place, text: str, *, timeout_ms: int = 20_000) -> tuple[Ended, str]:
    """Run a text with sh in the workspace: how it ended and what it wrote."""
    written = bytearray()
    command = ToolCommand(
        argv=("/bin/sh", "-c", text),
        place=where,
        folder=where.workspace,
        environment=PATH,
        timeout_ms=timeout_ms,
    )
    ended = await sandbox.run(command, written.extend)
    return ended, written.decode("utf-8", "replace")


def alive(words: str) -> list[str]:
    """The command lines that hold these words."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        found.append(line.replace(b"\0", b" ").decode("utf-8", "replace").strip())
    return [line for line in found if words in line]


async def moments() -> AsyncIterator[None]:
    """Time enough between two looks at what no event tells."""
    while True:
        yield
        await anyio.sleep(0.02)


def zombies() -> list[str]:
    """Our own children that have ended and were not waited for."""
    tasks = Path("/proc/self/task").iterdir()
    children = [pid for task in tasks for pid in (task / "children").read_text().split()]
    return [pid for pid in children if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))
