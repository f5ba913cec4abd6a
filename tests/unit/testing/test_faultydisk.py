import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from roost.testing.faultydisk import (
    NO_SPACE,
    READ_ERROR,
    SYNC_ERROR,
    WRITE_ERROR,
    DiskCall,
    Fault,
    FaultyDisk,
)

FLAGS = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_READWRITE, 0]
WRITES = frozenset({DiskCall.WRITE})


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk("disk")
    yield disk
    disk.unregister()


@pytest.fixture
def file(tmp_path: Path, disk: FaultyDisk) -> Iterator[apsw.VFSFile]:
    file = apsw.VFSFile(disk.name, str(tmp_path / "a.db"), FLAGS)
    yield file
    file.xClose()


def attempts(file: apsw.VFSFile, count: int) -> list[bool]:
    """Which of so many writes went well."""
    went_well = []
    for _ in range(count):
        try:
            file.xWrite(b"x", 0)
            went_well.append(True)
        except apsw.Error:
            went_well.append(False)
    return went_well


def test_without_a_fault_it_is_the_machines_disk(
    tmp_path: Path, disk: FaultyDisk, file: apsw.VFSFile
) -> None:
    file.xWrite(b"hello", 0)
    file.xSync(0)
    file.xTruncate(4)
    assert file.xRead(4, 0) == b"hell"
    assert (tmp_path / "a.db").read_bytes() == b"hell"
    assert not disk.struck


def test_a_fault_strikes_the_call_it_names(disk: FaultyDisk, file: apsw.VFSFile) -> None:
    disk.break_down(Fault(code=NO_SPACE, calls=WRITES, at=3))
    assert attempts(file, 5) == [True, True, False, True, True]
    assert disk.struck


def test_a_fault_that_lasts_ends_when_it_is_healed(disk: FaultyDisk, file: apsw.VFSFile) -> None:
    disk.break_down(Fault(code=NO_SPACE, calls=WRITES, at=2, lasts=True))
    assert attempts(file, 4) == [True, False, False, False]
    disk.heal()
    assert attempts(file, 2) == [True, True]


@pytest.mark.parametrize(
    ("code", "call"),
    [
        (READ_ERROR, DiskCall.READ),
        (WRITE_ERROR, DiskCall.WRITE),
        (NO_SPACE, DiskCall.TRUNCATE),
        (SYNC_ERROR, DiskCall.SYNC),
    ],
)
def test_each_kind_of_call_can_fail_with_its_code(
    disk: FaultyDisk, file: apsw.VFSFile, code: int, call: DiskCall
) -> None:
    calls: dict[DiskCall, Callable[[], object]] = {
        DiskCall.READ: lambda: file.xRead(1, 0),
        DiskCall.WRITE: lambda: file.xWrite(b"x", 0),
        DiskCall.TRUNCATE: lambda: file.xTruncate(0),
        DiskCall.SYNC: lambda: file.xSync(0),
    }
    file.xWrite(b"x", 0)
    disk.break_down(Fault(code=code, calls=frozenset({call}), lasts=True))
    for kind, act in calls.items():
        if kind is not call:
            act()
    with pytest.raises(type(apsw.exception_for(code))):
        calls[call]()


def test_a_fault_can_be_that_of_one_file(tmp_path: Path, disk: FaultyDisk, file: apsw.VFSFile) -> None:
    other = apsw.VFSFile(disk.name, str(tmp_path / "a.db-wal"), FLAGS)
    disk.break_down(Fault(code=NO_SPACE, calls=WRITES, suffix="-wal", lasts=True))
    assert attempts(file, 2) == [True, True]
    assert attempts(other, 2) == [False, False]
    other.xClose()


def test_held_syncs_wait_until_they_are_let_go(disk: FaultyDisk, file: apsw.VFSFile) -> None:
    done = threading.Event()

    def sync() -> None:
        file.xSync(0)
        done.set()

    with disk.held_syncs() as waiting:
        thread = threading.Thread(target=sync)
        thread.start()
        assert waiting.wait(10)
        assert not done.is_set()
    thread.join()
    assert done.is_set()
    file.xSync(0)


def test_a_database_works_on_it(tmp_path: Path, disk: FaultyDisk) -> None:
    connection = apsw.Connection(str(tmp_path / "b.db"), vfs=disk.name)
    connection.pragma("journal_mode", "WAL")
    connection.execute("CREATE TABLE a (x); INSERT INTO a VALUES (1)")
    disk.break_down(Fault(code=NO_SPACE, calls=WRITES))
    with pytest.raises(apsw.FullError):
        connection.execute("INSERT INTO a VALUES (2)")
    connection.execute("INSERT INTO a VALUES (3)")
    assert [x for (x,) in connection.execute("SELECT x FROM a")] == [1, 3]
    connection.close()
