"""A lock between the processes of one machine: a file that one of them holds until it lets go or ends, however it ends."""

import fcntl
import os
from pathlib import Path


class FileLock:
    """Nothing is written into the file, and it stays."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._held: int | None = None

    def take(self) -> bool:
        """Whether it is held here now; nobody is waited for."""
        if self._held is not None:
            return True
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._file, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._held = descriptor
        except BlockingIOError:
            return False
        finally:
            if self._held is None:
                os.close(descriptor)
        return True

    def release(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None
