"""The workspace as file tools see it: a folder that no path of a model's leads out of.

Every path is walked from the workspace's own descriptor, one component at a time, never following a link in the
kernel. Links are read and followed here, as long as they stay inside. So a link that is swapped in while
we look is either followed here or refused, and the file tools reach in a sandboxed place exactly
what a bind of the workspace into the sandbox would show: they need no process inside it.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex

from roost.core.errors import Forbidden, InvalidInput, NotFound, RoostError
from roost.core.tools import Place, WorkspaceAccess

LARGEST = 16 << 20
"""Files larger than this are not read or written whole."""

_LINKS = 20
_LONGEST_PATH = 4096
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_STAY = "give a path relative to the workspace, such as notes/today.md"


@dataclass(frozen=True, slots=True)
class Located:
    """A name in an open folder of the workspace; the name is no link, or does not exist."""

    folder: int
    name: str

    def status(self) -> os.stat_result | None:
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None


class Workspace:
    """The files of a place, as far as its access goes."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def may_hold(self, path: str) -> bool:
        """Whether something may go by that name. Where a link leads is not asked: a file that is not there is looked for
        often."""
        try:
            os.stat(f"{self._place.workspace}/{path}", follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError:
            # Who reads it is told what is wrong.
            return True
        return True

    def read(self, path: str) -> bytes:
        """A regular file's bytes."""
        with _explaining(path), self._located(path) as found:
            return _content(found, path)

    def write(self, path: str, data: bytes) -> bool:
        """Put a whole file in place at once; whether there was one before. Folders it needs are made."""
        self._must_write()
        _refuse_large(len(data))
        with _explaining(path), self._located(path, create=True) as found:
            before = found.status()
            if before is not None:
                _refuse_irregular(before, path)
            _replace(found, data, None if before is None else stat.S_IMODE(before.st_mode) & 0o777)
            return before is not None

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of a file, or begin it. Whoever else adds to it meanwhile loses nothing."""
        self._must_write()
        with _explaining(path), self._located(path, create=True) as found:
            before = found.status()
            if before is not None:
                _refuse_irregular(before, path)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FILE
            with open(os.open(found.name, flags, 0o666, dir_fd=found.folder), "ab") as file:
                now = os.fstat(file.fileno())
                _refuse_irregular(now, path)
                _refuse_large(now.st_size + len(data))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.fsync(found.folder)

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """An open folder, by its descriptor."""
        with _explaining(path), self._located(path) as found:
            descriptor = os.open(found.name, _FOLDER, dir_fd=found.folder)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def _must_write(self) -> None:
        self._must_read()
        if self._place.access is WorkspaceAccess.READ:
            raise Forbidden("the workspace is read-only here", hint="tell the person what should be written")

    def _must_read(self) -> None:
        if self._place.access is WorkspaceAccess.NONE:
            raise Forbidden(
                "this session has no access to the workspace",
                hint="go on without files, or ask the owner to raise sandbox.workspaceAccess",
            )

    @contextmanager
    def _located(self, path: str, *, create: bool = False) -> Iterator[Located]:
        self._must_read()
        components = _components(path)
        with ExitStack() as opened:
            try:
                root = os.open(self._place.workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError as error:
                raise NotFound(
                    "the workspace folder cannot be opened", hint="ask the owner to create it"
                ) from error
            opened.callback(os.close, root)
            yield _walk(root, components, opened, create=create)


def _components(path: str) -> tuple[str, ...]:
    if "\0" in path or len(path.encode("utf-8", "replace")) > _LONGEST_PATH:
        raise InvalidInput("that is not a path", hint=_STAY)
    if path.startswith(("/", "~")):
        raise Forbidden(f"`{path}` is not in the workspace: absolute paths are refused", hint=_STAY)
    components = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in components:
        raise Forbidden(f"`{path}` may lead out of the workspace: `..` is refused", hint=_STAY)
    return components


def _walk(root: int, components: tuple[str, ...], opened: ExitStack, *, create: bool) -> Located:
    """Go down to the last component. Going up means going back to a folder already open, so that moving
    a folder meanwhile leads nowhere."""
    way = [root]
    ahead = deque(components)
    links = 0
    while ahead:
        name = ahead.popleft()
        if name == "..":
            if len(way) == 1:
                raise _leads_out()
            way.pop()
            continue
        target = _link_target(way[-1], name)
        if target is not None:
            links += 1
            if links > _LINKS or target.startswith("/"):
                raise _leads_out()
            ahead.extendleft(part for part in reversed(target.split("/")) if part not in ("", "."))
        elif ahead:
            descriptor = _open_folder(way[-1], name, create=create)
            opened.callback(os.close, descriptor)
            way.append(descriptor)
        else:
            return Located(way[-1], name)
    return Located(way[-1], ".")


def _leads_out() -> Forbidden:
    return Forbidden("a link on that path leads out of the workspace", hint="use another path")


def _link_target(folder: int, name: str) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _open_folder(folder: int, name: str, *, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _content(found: Located, path: str) -> bytes:
    status = found.status()
    if status is None:
        raise FileNotFoundError(errno.ENOENT, "no such file")
    _refuse_irregular(status, path)
    with open(os.open(found.name, os.O_RDONLY | _FILE, dir_fd=found.folder), "rb") as file:
        _refuse_irregular(os.fstat(file.fileno()), path)
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InvalidInput(
            f"`{path}` is larger than {LARGEST} bytes",
            hint="take a part of it with `exec`, such as head or sed",
        )
    return data


def _refuse_large(size: int) -> None:
    if size > LARGEST:
        raise InvalidInput(f"{size} bytes are too many for one file", hint=f"write at most {LARGEST}")


def _refuse_irregular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InvalidInput(f"`{path}` is a folder", hint="use `list`, or name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise Forbidden(f"`{path}` is a device, pipe or socket", hint="name a regular file")


def _replace(found: Located, data: bytes, mode: int | None) -> None:
    """Write beside it and rename, so that a reader sees the old file or the new one."""
    temporary = f".roost-{token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
    with open(os.open(temporary, flags, 0o666, dir_fd=found.folder), "wb") as file:
        try:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, found.name, src_dir_fd=found.folder, dst_dir_fd=found.folder)
        except OSError:
            os.unlink(temporary, dir_fd=found.folder)
            raise
    os.fsync(found.folder)


@contextmanager
def _explaining(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeEncodeError) as error:
        raise _explained(error, path) from error


def _explained(error: OSError | UnicodeEncodeError, path: str) -> RoostError:
    code = error.errno if isinstance(error, OSError) else errno.EINVAL
    match code:
        case errno.ENOENT:
            return NotFound(f"there is no `{path}` in the workspace", hint="use `list` to see what there is")
        case errno.ENOTDIR | errno.ELOOP:
            return InvalidInput(f"a part of `{path}` is no folder", hint="use `list` to see what there is")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return Forbidden(f"`{path}` may not be used that way", hint="tell the person")
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return Forbidden("there is no space left for it", hint="tell the person")
        case _:
            return InvalidInput(f"`{path}` cannot be used as a path", hint=_STAY)
