"""A folder from outside: only the plain files that lie directly in it, reached without following a link."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from roost.core.errors import InvalidInput, NotFound

# A named pipe must not make the reader wait for a writer.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_WALK = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The names in a folder, in order. `others` are links, pipes and the like, which are never opened."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    others: tuple[str, ...]


class Folder:
    """An open directory. Names are resolved in it and nowhere else, whatever happens to its path meanwhile."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def open(cls, path: Path) -> "Folder":
        """The folder that the operator named; a link is followed here and only here."""
        try:
            return cls(os.open(path, _WALK))
        except FileNotFoundError:
            raise NotFound(f"there is no {path}", hint="see that the path is right") from None
        except (OSError, ValueError):
            raise NotFound(
                f"{path} is no folder that can be read", hint="see that it is one, and yours to read"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def listing(self) -> Listing:
        files, folders, others = [], [], []
        with os.scandir(self._descriptor) as found:
            for entry in found:
                if entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    others.append(entry.name)
        return Listing(
            files=tuple(sorted(files)), folders=tuple(sorted(folders)), others=tuple(sorted(others))
        )

    def file(self, name: str) -> BinaryIO:
        """A plain file of this folder, open for reading."""
        descriptor = os.open(_single(name), _READ, dir_fd=self._descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise InvalidInput(f"{name!r} is not a plain file")
        return os.fdopen(descriptor, "rb")

    def folder(self, name: str) -> "Folder":
        """A folder directly in this one."""
        return Folder(os.open(_single(name), _WALK | os.O_NOFOLLOW, dir_fd=self._descriptor))


def _single(name: str) -> str:
    if "/" in name or "\0" in name or name in ("", ".", ".."):
        raise InvalidInput(f"{name!r} is a path, not a name")
    return name
