"""A restore that is killed before each of its steps on the folder."""

import shutil
from itertools import count
from pathlib import Path

import apsw

from roost.stores.sqlite.backup import copy_database
from roost.stores.sqlite.connection import open_writer
from tests.faults.restore_child import KILLED, main
from tests.forks import PROCESSES

FEWEST_STEPS = 4


def prepare(folder: Path) -> None:
    """A backup with one note, and what was left of a gateway that was killed after the hundredth."""
    folder.mkdir()
    writer = open_writer(folder / "live.db")
    writer.execute("CREATE TABLE notes (text)")
    writer.execute("INSERT INTO notes VALUES (zeroblob(4000))")
    writer.execute("BEGIN")
    copy_database(writer, folder / "backup.db")
    writer.execute("ROLLBACK")
    writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    for _ in range(99):
        writer.execute("INSERT INTO notes VALUES (zeroblob(4000))")
    for ending in ("", "-wal", "-shm"):
        shutil.copy(folder / f"live.db{ending}", folder / f"roost.db{ending}")
    writer.close()


def notes(path: Path) -> int:
    connection = open_writer(path)
    assert connection.pragma("integrity_check") == "ok"
    found = len(connection.execute("SELECT 1 FROM notes").fetchall())
    connection.close()
    return found


def restored(folder: Path, last: int) -> int | None:
    process = PROCESSES.Process(target=main, args=(folder / "backup.db", folder / "roost.db", last))
    process.start()
    process.join()
    return process.exitcode


def test_a_restore_that_is_killed_leaves_one_store_or_the_other_and_can_be_done_again(tmp_path: Path) -> None:
    found: list[int] = []
    for last in count(1):
        folder = tmp_path / str(last)
        prepare(folder)
        if restored(folder, last) != KILLED:
            break
        found.append(notes(folder / "roost.db"))
        (folder / "kept.db").unlink(missing_ok=True)
        assert restored(folder, 0) == 0
        assert notes(folder / "roost.db") == 1
    assert len(found) >= FEWEST_STEPS
    assert set(found) == {1, 100}
    assert found == sorted(found, reverse=True)
