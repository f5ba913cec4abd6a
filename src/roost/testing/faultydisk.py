"""A disk that fails or waits when told to: an apsw VFS for tests of full disks, I/O errors and commits.

It writes to the real files but never waits for the machine's own disk: nothing here survives a power cut.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    from typing_extensions import Buffer

NO_SPACE = apsw.SQLITE_FULL
READ_ERROR = apsw.SQLITE_IOERR_READ
WRITE_ERROR = apsw.SQLITE_IOERR_WRITE
SYNC_ERROR = apsw.SQLITE_IOERR_FSYNC


class DiskCall(StrEnum):
    READ = "read"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The n-th call of its kinds from now on fails with this code of SQLite; if it lasts, so do all after it.

    Only files whose name ends with `suffix` are struck.
    """

    code: int
    calls: frozenset[DiskCall]
    suffix: str = ""
    at: int = 1
    lasts: bool = False


class FaultyDisk(apsw.VFS):
    """Registered under its name; give that to `SqliteOptions(vfs=…)`. Unregister it when done."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.struck = False
        self._fault: Fault | None = None
        self._calls = 0
        self._lock = threading.Lock()
        self._syncs_go_on = threading.Event()
        self._syncs_go_on.set()
        self._sync_waits = threading.Event()
        super().__init__(name, "")

    def break_down(self, fault: Fault) -> None:
        with self._lock:
            self._fault, self._calls, self.struck = fault, 0, False

    def heal(self) -> None:
        with self._lock:
            self._fault = None

    @contextmanager
    def held_syncs(self) -> Iterator[threading.Event]:
        """Every sync waits until the end of the block; the event is set when the first one does."""
        self._sync_waits.clear()
        self._syncs_go_on.clear()
        try:
            yield self._sync_waits
        finally:
            self._syncs_go_on.set()

    def meet(self, call: DiskCall, path: str) -> None:
        """What a call has to pass before it is done."""
        if call is DiskCall.SYNC and not self._syncs_go_on.is_set():
            self._sync_waits.set()
            self._syncs_go_on.wait()
        with self._lock:
            fault = self._fault
            if fault is None or call not in fault.calls or not path.endswith(fault.suffix):
                return
            self._calls += 1
            if self._calls == fault.at or (fault.lasts and self._calls > fault.at):
                self.struck = True
                raise apsw.exception_for(fault.code)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 — SQLite's name
        return FaultyFile(self, name, flags)


class FaultyFile(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 — SQLite's name
        self._disk.meet(DiskCall.READ, self._path)
        return super().xRead(amount, offset)

    def xWrite(self, data: "Buffer", offset: int) -> None:  # noqa: N802 — SQLite's name
        self._disk.meet(DiskCall.WRITE, self._path)
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 — SQLite's name
        self._disk.meet(DiskCall.TRUNCATE, self._path)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 — SQLite's name
        self._disk.meet(DiskCall.SYNC, self._path)
