"""A disk that forgets what was never synced: an apsw VFS that proves durability.

Files live in memory; the real ones beside them only carry locks. After `cut` every call fails, and
`write_remains` writes down what a machine could find when the power is back: of what was not synced all, some
sectors, or nothing.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, assert_never

import apsw

if TYPE_CHECKING:
    from typing_extensions import Buffer

SECTOR = 512
DATABASE = apsw.SQLITE_OPEN_MAIN_DB
LOGS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


class Tear(StrEnum):
    """What is left of the changes to a file since its last sync."""

    DROPPED = "dropped"
    CUT_SHORT = "cut_short"
    SCATTERED = "scattered"


@dataclass(frozen=True, slots=True)
class Write:
    offset: int
    data: bytes

    def apply(self, content: bytearray) -> None:
        gap = self.offset - len(content)
        if gap > 0:
            content.extend(bytes(gap))
        content[self.offset : self.offset + len(self.data)] = self.data

    def sectors(self) -> Iterator["Write"]:
        start, end = self.offset, self.offset + len(self.data)
        while start < end:
            stop = min(end, (start // SECTOR + 1) * SECTOR)
            yield Write(start, self.data[start - self.offset : stop - self.offset])
            start = stop


@dataclass(frozen=True, slots=True)
class Truncate:
    size: int

    def apply(self, content: bytearray) -> None:
        del content[self.size :]

    def sectors(self) -> Iterator["Truncate"]:
        yield self


Change = Write | Truncate


class Inode:
    """One file: what the running program sees, what was synced, and the changes between the two."""

    def __init__(self, content: bytes) -> None:
        self.content = bytearray(content)
        self._synced = bytearray(content)
        self._changes: list[Change] = []

    def change(self, change: Change) -> None:
        change.apply(self.content)
        self._changes.append(change)

    def sync(self) -> None:
        for change in self._changes:
            change.apply(self._synced)
        self._changes.clear()

    def remains(self, tear: Tear, chance: Random) -> bytes:
        content = bytearray(self._synced)
        for change in survivors(self._changes, tear, chance):
            change.apply(content)
        return bytes(content)


def survivors(changes: Sequence[Change], tear: Tear, chance: Random) -> Iterator[Change]:
    match tear:
        case Tear.DROPPED:
            return
        case Tear.CUT_SHORT:
            pieces = [piece for change in changes for piece in change.sectors()]
            yield from pieces[: chance.randrange(len(pieces) + 1)]
        case Tear.SCATTERED:
            share = chance.random()
            for change in changes:
                yield from (piece for piece in change.sectors() if chance.random() < share)
        case _:
            assert_never(tear)


class PowerCutDisk(apsw.VFS):
    """Registered under its name; give that to `SqliteOptions(vfs=…)`. Unregister it when done."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operations = 0
        self._lock = threading.Lock()
        self._cut_at: int | None = None
        self._off = False
        self._seen: dict[str, Inode] = {}
        self._kept: dict[str, Inode] = {}
        self._naming: list[tuple[str, Inode | None]] = []
        super().__init__(name, "")

    # -- the power -----------------------------------------------------------------------------------

    def cut(self) -> None:
        """The power fails now."""
        with self._lock:
            self._off = True

    def cut_at(self, operation: int) -> None:
        """The power fails during the change, sync or deletion with this number."""
        self._cut_at = operation

    @property
    def is_off(self) -> bool:
        return self._off

    def write_remains(self, folder: Path, chance: Random) -> None:
        """What may be found after the cut; another draw gives another outcome."""
        folder.mkdir(parents=True)
        names = dict[str, Inode | None](self._kept)
        names.update(self._naming[: chance.randrange(len(self._naming) + 1)])
        for path, inode in names.items():
            if inode is not None:
                remains = inode.remains(chance.choice(list(Tear)), chance)
                (folder / Path(path).name).write_bytes(remains)

    # -- what SQLite calls ---------------------------------------------------------------------------

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 — SQLite's name
        if name is None or not flags[0] & (DATABASE | LOGS):
            return super().xOpen(name, flags)
        return DiskFile(self, name, flags)

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802 — SQLite's name
        with self._lock:
            inode = self._seen.get(pathname)
        return bool(inode.content) if inode is not None else super().xAccess(pathname, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 — SQLite's name
        with self._lock:
            self._spend()
            self._seen.pop(filename, None)
            self._naming.append((filename, None))
            if syncdir:
                self._sync_names()
        super().xDelete(filename, syncdir)

    # -- what its files call -------------------------------------------------------------------------

    def inode(self, path: str, found: bytes) -> Inode:
        """The file of that name; `found` is what the real disk holds under it."""
        with self._lock:
            inode = self._seen.get(path)
            if inode is None:
                inode = self._seen[path] = Inode(found)
                # An empty file may have been made a moment ago: its name is not safe yet.
                if found:
                    self._kept[path] = inode
                else:
                    self._naming.append((path, inode))
            return inode

    def change(self, inode: Inode, change: Change) -> None:
        with self._lock:
            if not self._off:
                inode.change(change)
            self._spend()

    def sync(self, inode: Inode, *, names: bool) -> None:
        with self._lock:
            self._spend()
            inode.sync()
            if names:
                self._sync_names()

    def refuse_when_off(self) -> None:
        if self._off:
            raise apsw.exception_for(apsw.SQLITE_IOERR)

    def _spend(self) -> None:
        """Count an operation; one that the cut interrupts promises nothing."""
        self.operations += 1
        if self.operations == self._cut_at:
            self._off = True
        self.refuse_when_off()

    def _sync_names(self) -> None:
        for path, inode in self._naming:
            if inode is None:
                self._kept.pop(path, None)
            else:
                self._kept[path] = inode
        self._naming.clear()


class DiskFile(apsw.VFSFile):
    """An open file of the disk; locks and shared memory are those of the real file."""

    def __init__(self, disk: PowerCutDisk, name: str | apsw.URIFilename, flags: list[int]) -> None:
        disk.refuse_when_off()
        is_log, creates = bool(flags[0] & LOGS), bool(flags[0] & apsw.SQLITE_OPEN_CREATE)
        super().__init__("", name, flags)
        path = name if isinstance(name, str) else name.filename()
        self._disk = disk
        self._inode = disk.inode(path, super().xRead(super().xFileSize(), 0))
        # SQLite syncs the folder with the first sync of a log it may have created.
        self._syncs_names = is_log and creates

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 — SQLite's name
        self._disk.refuse_when_off()
        return bytes(self._inode.content[offset : offset + amount])

    def xFileSize(self) -> int:  # noqa: N802 — SQLite's name
        self._disk.refuse_when_off()
        return len(self._inode.content)

    def xWrite(self, data: "Buffer", offset: int) -> None:  # noqa: N802 — SQLite's name
        self._disk.change(self._inode, Write(offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 — SQLite's name
        self._disk.change(self._inode, Truncate(newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802 — SQLite's name
        self._disk.sync(self._inode, names=self._syncs_names)
        self._syncs_names = False
