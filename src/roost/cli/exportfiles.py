"""The files of an export, as a gateway names them, in a folder of who asked for them."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from roost.core.errors import Conflict, InvalidInput

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.jsonl", re.ASCII)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Paths; `replaced` are those at which a file was before."""

    files: tuple[str, ...]
    replaced: tuple[str, ...]


class ExportFiles:
    """Files that nobody else can read, in an open folder; none is seen under its name before all are whole."""

    def __init__(self, folder: Path, descriptor: int) -> None:
        self._folder, self._descriptor = folder, descriptor
        self._parts: dict[str, str] = {}

    def add(self, name: str, data: bytes) -> None:
        """What comes next in a file. The name is a gateway's: it is held to be one."""
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"the gateway calls a file {name!r}", hint="see that it is the one you mean")
        if not data:
            return
        if name in self._parts:
            how = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        else:
            how, self._parts[name] = _NEW, f".{name}.{secrets.token_hex(4)}.part"
        with os.fdopen(os.open(self._parts[name], how, 0o600, dir_fd=self._descriptor), "wb") as file:
            file.write(data)

    def publish(self) -> Written:
        before = {name for name in self._parts if self._is_there(name)}
        for name, part in tuple(self._parts.items()):
            os.replace(part, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        paths = {name: str(self._folder / name) for name in self._parts}
        self._parts.clear()
        return Written(
            files=tuple(paths.values()), replaced=tuple(paths[name] for name in paths if name in before)
        )

    def drop(self) -> None:
        for part in self._parts.values():
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=self._descriptor)

    def _is_there(self, name: str) -> bool:
        try:
            os.lstat(name, dir_fd=self._descriptor)
        except FileNotFoundError:
            return False
        return True


@contextmanager
def export_files(root: Path, name: str) -> Iterator[ExportFiles]:
    """Files of the folder `name` in `root`, which is made; of what is not published nothing stays."""
    folder = root / name
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder.mkdir(exist_ok=True, mode=0o700)
        # A link in its place would lead out of what was named.
        descriptor = os.open(folder, _FOLDER)
        try:
            yield from _kept(ExportFiles(folder, descriptor))
        finally:
            os.close(descriptor)
            with suppress(OSError):
                folder.rmdir()
    except OSError as error:
        raise Conflict(
            f"the export could not be written: {error.strerror}", hint=f"make room, or mend {folder}"
        ) from None


def _kept(files: ExportFiles) -> Iterator[ExportFiles]:
    try:
        yield files
    finally:
        files.drop()
