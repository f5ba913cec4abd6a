from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import apsw
import pytest

from roost.testing.powercut import SECTOR, Inode, PowerCutDisk, Tear, Truncate, Write, survivors

DATABASE = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_READWRITE, 0]
LOG = [apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_READWRITE, 0]
NAME = "db-wal"
OLD, NEW = b"o" * SECTOR * 8, b"n" * SECTOR * 8


@pytest.fixture
def disk() -> Iterator[PowerCutDisk]:
    disk = PowerCutDisk("disk")
    yield disk
    disk.unregister()


@pytest.fixture
def log(tmp_path: Path, disk: PowerCutDisk) -> Iterator[apsw.VFSFile]:
    """A file with old content on the disk and new content on its way there."""
    (tmp_path / "db").touch()
    file = apsw.VFSFile(disk.name, str(tmp_path / NAME), LOG)
    file.xWrite(OLD, 0)
    file.xSync(0)
    file.xWrite(NEW, 0)
    yield file
    file.xClose()


def outcomes(disk: PowerCutDisk, folder: Path, name: str) -> list[bytes | None]:
    """What many cuts would leave of a file; None when its name is gone."""
    found = []
    for seed in range(60):
        disk.write_remains(folder / str(seed), Random(seed))
        path = folder / str(seed) / name
        found.append(path.read_bytes() if path.exists() else None)
    return found


def sectors(content: bytes) -> set[bytes]:
    return {content[start : start + SECTOR] for start in range(0, len(content), SECTOR)}


def test_the_running_program_reads_what_it_wrote(log: apsw.VFSFile) -> None:
    assert log.xRead(len(NEW), 0) == NEW
    assert log.xRead(SECTOR, len(NEW) - 10) == NEW[:10]
    assert log.xFileSize() == len(NEW)
    log.xTruncate(SECTOR)
    assert log.xRead(len(NEW), 0) == NEW[:SECTOR]


def test_every_handle_of_a_file_sees_the_same(tmp_path: Path, disk: PowerCutDisk, log: apsw.VFSFile) -> None:
    other = apsw.VFSFile(disk.name, str(tmp_path / NAME), LOG)
    assert other.xRead(len(NEW), 0) == NEW
    other.xClose()


def test_what_was_synced_stays(tmp_path: Path, disk: PowerCutDisk, log: apsw.VFSFile) -> None:
    log.xSync(0)
    disk.cut()
    assert set(outcomes(disk, tmp_path / "after", NAME)) == {NEW}


def test_what_was_not_synced_is_kept_lost_or_torn_at_sectors(
    tmp_path: Path, disk: PowerCutDisk, log: apsw.VFSFile
) -> None:
    disk.cut()
    found = outcomes(disk, tmp_path / "after", NAME)
    assert all(content is not None and sectors(content) <= {OLD[:SECTOR], NEW[:SECTOR]} for content in found)
    kinds = Counter("old" if content == OLD else "new" if content == NEW else "torn" for content in found)
    assert kinds["old"] > 10
    assert kinds["torn"] > 10


def test_a_draw_can_be_repeated(tmp_path: Path, disk: PowerCutDisk, log: apsw.VFSFile) -> None:
    disk.cut()
    again = [outcomes(disk, tmp_path / attempt, NAME) for attempt in ("one", "two")]
    assert again[0] == again[1]


def test_a_file_is_found_only_when_its_name_was_synced(tmp_path: Path, disk: PowerCutDisk) -> None:
    database = apsw.VFSFile(disk.name, str(tmp_path / "db"), DATABASE)
    database.xWrite(OLD, 0)
    database.xSync(0)
    found = outcomes(disk, tmp_path / "before", "db")
    assert set(found) == {None, OLD}
    log = apsw.VFSFile(disk.name, str(tmp_path / NAME), LOG)
    log.xSync(0)
    assert set(outcomes(disk, tmp_path / "after", "db")) == {OLD}
    for file in (database, log):
        file.xClose()


def test_a_deleted_file_may_come_back_until_the_deletion_is_synced(
    tmp_path: Path, disk: PowerCutDisk, log: apsw.VFSFile
) -> None:
    log.xSync(0)
    disk.xDelete(str(tmp_path / NAME), False)
    assert not disk.xAccess(str(tmp_path / NAME), apsw.SQLITE_ACCESS_EXISTS)
    assert set(outcomes(disk, tmp_path / "before", NAME)) == {None, NEW}
    other = apsw.VFSFile(disk.name, str(tmp_path / "db-journal"), LOG)
    disk.xDelete(str(tmp_path / "db-journal"), True)
    assert set(outcomes(disk, tmp_path / "after", NAME)) == {None}
    other.xClose()


def test_what_the_real_disk_held_was_synced(tmp_path: Path, disk: PowerCutDisk) -> None:
    (tmp_path / "db").write_bytes(OLD)
    assert disk.xAccess(str(tmp_path / "db"), apsw.SQLITE_ACCESS_EXISTS)
    file = apsw.VFSFile(disk.name, str(tmp_path / "db"), DATABASE)
    assert file.xRead(len(OLD), 0) == OLD
    file.xWrite(NEW, 0)
    disk.cut()
    assert OLD in outcomes(disk, tmp_path / "after", "db")
    assert (tmp_path / "db").read_bytes() == OLD
    file.xClose()


@pytest.mark.parametrize("call", ["write", "sync", "truncate", "read", "size", "delete", "open"])
def test_after_the_cut_every_call_fails(
    tmp_path: Path, disk: PowerCutDisk, log: apsw.VFSFile, call: str
) -> None:
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: log.xWrite(b"x", 0),
        "sync": lambda: log.xSync(0),
        "truncate": lambda: log.xTruncate(0),
        "read": lambda: log.xRead(1, 0),
        "size": log.xFileSize,
        "delete": lambda: disk.xDelete(str(tmp_path / NAME), True),
        "open": lambda: apsw.VFSFile(disk.name, str(tmp_path / "db-journal"), LOG),
    }
    disk.cut()
    with pytest.raises((apsw.IOError, apsw.CantOpenError)):
        calls[call]()
    assert disk.is_off
    assert set(outcomes(disk, tmp_path / "after", NAME)) - {OLD, None}, "still torn, never synced"


def test_a_sync_that_the_cut_interrupts_promises_nothing(
    tmp_path: Path, disk: PowerCutDisk, log: apsw.VFSFile
) -> None:
    disk.cut_at(disk.operations + 1)
    with pytest.raises(apsw.IOError):
        log.xSync(0)
    assert OLD in outcomes(disk, tmp_path / "after", NAME)


def test_a_write_that_the_cut_interrupts_may_be_torn(
    tmp_path: Path, disk: PowerCutDisk, log: apsw.VFSFile
) -> None:
    log.xSync(0)
    disk.cut_at(disk.operations + 1)
    with pytest.raises(apsw.IOError):
        log.xWrite(OLD, 0)
    found = set(outcomes(disk, tmp_path / "after", NAME))
    assert NEW in found
    assert len(found) > 2


@pytest.mark.parametrize(("synchronous", "lost"), [("FULL", False), ("OFF", True)])
def test_a_database_on_it_keeps_its_promise_or_shows_that_it_made_none(
    tmp_path: Path, disk: PowerCutDisk, synchronous: str, lost: bool
) -> None:
    connection = apsw.Connection(str(tmp_path / "db"), vfs=disk.name)
    connection.pragma("journal_mode", "WAL")
    connection.execute("CREATE TABLE notes (text)")
    connection.pragma("synchronous", synchronous)
    connection.execute("INSERT INTO notes VALUES ('hello')")
    disk.cut()
    with suppress(apsw.IOError):
        connection.close()
    found = set()
    for seed in range(20):
        disk.write_remains(tmp_path / str(seed), Random(seed))
        after = apsw.Connection(str(tmp_path / str(seed) / "db"))
        assert after.pragma("integrity_check") == "ok"
        found.add(after.execute("SELECT count(*) FROM notes").get)
        after.close()
    assert found == ({0, 1} if lost else {1})


def test_a_temporary_file_is_none_of_its_business(disk: PowerCutDisk) -> None:
    connection = apsw.Connection("", vfs=disk.name)
    connection.execute("CREATE TABLE a (x); INSERT INTO a VALUES (zeroblob(10000000))")
    connection.close()
    assert disk.operations == 0


def test_a_write_beyond_the_end_leaves_a_gap_of_zeros() -> None:
    inode = Inode(b"ab")
    inode.change(Write(4, b"c"))
    assert inode.content == b"ab\0\0c"
    inode.change(Truncate(1))
    assert inode.content == b"a"


def test_a_write_is_split_where_sectors_end() -> None:
    pieces = list(Write(SECTOR - 2, b"x" * (SECTOR + 4)).sectors())
    assert [(piece.offset, len(piece.data)) for piece in pieces] == [
        (SECTOR - 2, 2),
        (SECTOR, SECTOR),
        (2 * SECTOR, 2),
    ]


@pytest.mark.parametrize("tear", Tear)
def test_survivors_keep_their_order(tear: Tear) -> None:
    changes: list[Write | Truncate] = [
        Write(0, b"a" * SECTOR * 3),
        Truncate(SECTOR),
        Write(SECTOR, b"b" * SECTOR),
    ]
    pieces = [piece for change in changes for piece in change.sectors()]
    for seed in range(20):
        left = list(survivors(changes, tear, Random(seed)))
        places = [pieces.index(piece) for piece in left]
        assert places == sorted(places)
        if tear is Tear.DROPPED:
            assert left == []
        if tear is Tear.CUT_SHORT:
            assert left == pieces[: len(left)]
