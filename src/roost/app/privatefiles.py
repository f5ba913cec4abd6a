"""Files that only their owner can read: whole from the moment they are there, and nothing beside them if that fails."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def create(file: Path, text: str) -> None:
    """A new file; raises `FileExistsError` where there is one."""
    with _beside(file, text) as written:
        os.link(written, file)


def replace(file: Path, text: str) -> None:
    """A file in the place of whatever was there."""
    with _beside(file, text) as written:
        written.replace(file)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """A folder that nobody else holds within the block: who comes meanwhile waits."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _beside(file: Path, text: str) -> Iterator[Path]:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f"{file.name}.")
        written = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            yield written
        finally:
            written.unlink(missing_ok=True)
    except OSError as error:
        # People know the file that was to be written, not the one beside it.
        raise OSError(error.errno, error.strerror, str(file)) from error
