"""`list`: what a folder of the workspace holds, as a tree."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from roost.core import toolnames
from roost.core.models import ToolSpec
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import attempted, told
from roost.tools.workspace import Workspace

MOST_ENTRIES = 1000
_MOST_DEPTH = 10
_LOOKED_AT = 10_000


class ListFiles:
    traits = ToolTraits(reenterable=True, parallel=True)
    spec = ToolSpec(
        name=toolnames.LIST,
        description=(
            "List files and folders of the workspace as a tree. Folders end in `/`, files show their size in bytes, "
            "links show where they point."
        ),
        parameters=object_schema(
            {
                "path": {
                    "type": "string",
                    "description": "Folder, relative to the workspace. Default: the workspace itself.",
                },
                "depth": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Levels to show, at most 10. Default 2.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Entries to show, at most 1000. Default 200.",
                },
            }
        ),
    )

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await attempted(lambda: self._list(invocation))

    def _list(self, invocation: Invocation) -> ToolOutcome:
        arguments = Arguments(self.spec, invocation.arguments)
        path = arguments.text_or("path", ".")
        depth = arguments.whole("depth", 2, least=1, most=_MOST_DEPTH)
        limit = arguments.whole("limit", 200, least=1, most=MOST_ENTRIES)
        with Workspace(invocation.place).folder(path) as folder:
            lines = list(islice(_tree(folder, depth, ""), limit + 1))
        more = len(lines) > limit
        shown = lines[:limit] + (
            ["[more entries were left out: list a folder of it, or raise `limit`]"] if more else []
        )
        return told("\n".join(shown) or "the folder is empty", details={"path": path, "truncated": more})


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    name: str
    line: str
    is_folder: bool


def _tree(folder: int, depth: int, indent: str) -> Iterator[str]:
    for entry in _entries(folder):
        yield f"{indent}{entry.line}"
        if entry.is_folder and depth > 1:
            yield from _below(folder, entry.name, depth - 1, f"{indent}  ")


def _below(folder: int, name: str, depth: int, indent: str) -> Iterator[str]:
    try:
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        yield f"{indent}[cannot be opened: {error.strerror}]"
        return
    try:
        yield from _tree(inner, depth, indent)
    finally:
        os.close(inner)


def _entries(folder: int) -> list[_Entry]:
    with os.scandir(folder) as found:
        names = sorted(entry.name for entry in islice(found, _LOOKED_AT))
    return [entry for name in names if (entry := _described(folder, name)) is not None]


def _described(folder: int, name: str) -> _Entry | None:
    shown = name.encode("utf-8", "backslashreplace").decode().replace("\n", "\\n")
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(name, dir_fd=folder).encode("utf-8", "backslashreplace").decode()
            return _Entry(name, f"{shown} -> {target}", is_folder=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return _Entry(name, f"{shown}/", is_folder=True)
    kind = f"{status.st_size}" if stat.S_ISREG(status.st_mode) else "device, pipe or socket"
    return _Entry(name, f"{shown} ({kind})", is_folder=False)
