"""A backup becomes the store."""

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from roost.core.errors import InvalidInput, LeaseHeld, RoostError, StoreCorrupt, StoreUnavailable
from roost.stores.sqlite.backup import copy_database
from roost.stores.sqlite.connection import open_writer
from roost.stores.sqlite.restoring import restore

ENDINGS = ("", "-wal", "-shm")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "roost.db"


@pytest.fixture
def backup(tmp_path: Path, path: Path) -> Path:
    """Of a moment at which there was one note; beside the store lies what a gateway left that was killed after the second."""
    live = tmp_path / "live.db"
    writer = open_writer(live)
    writer.execute("CREATE TABLE notes (text)")
    writer.execute("INSERT INTO notes VALUES ('first')")
    writer.execute("BEGIN")
    copy_database(writer, tmp_path / "backup.db")
    writer.execute("ROLLBACK")
    writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    writer.execute("INSERT INTO notes VALUES ('second')")
    for ending in ENDINGS:
        shutil.copy(f"{live}{ending}", f"{path}{ending}")
    writer.close()
    return tmp_path / "backup.db"


def keeping(path: Path) -> Callable[[], Path]:
    return lambda: path.with_name("kept.db")


def notes(path: Path) -> list[object]:
    connection = apsw.Connection(str(path))
    assert connection.pragma("integrity_check") == "ok"
    found: list[object] = [row[0] for row in connection.execute("SELECT text FROM notes ORDER BY rowid")]
    connection.close()
    return found


def names(path: Path) -> set[str]:
    return {file.name for file in path.parent.iterdir()}


def test_the_store_is_what_the_backup_holds_and_the_log_of_a_killed_gateway_does_not_reach_it(
    path: Path, backup: Path
) -> None:
    assert restore(backup, path, keeping(path)) == path.with_name("kept.db")
    assert names(path) == {"roost.db", "kept.db"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_nlink == 1
    assert notes(path) == ["first"]
    assert notes(path.with_name("kept.db")) == ["first", "second"]
    assert notes(backup) == ["first"]


def test_where_there_is_no_store_the_backup_becomes_one(path: Path, backup: Path) -> None:
    for ending in ("", "-shm"):
        Path(f"{path}{ending}").unlink()
    assert restore(backup, path, keeping(path)) is None
    assert notes(path) == ["first"]
    assert names(path) == {"roost.db"}


def test_a_store_that_cannot_be_read_is_replaced_and_kept_with_its_log(path: Path, backup: Path) -> None:
    path.write_bytes(b"nonsense" * 1_000)
    restore(backup, path, keeping(path))
    assert notes(path) == ["first"]
    assert names(path) == {"roost.db", "kept.db", "kept.db-wal"}
    assert path.with_name("kept.db").read_bytes() == b"nonsense" * 1_000


def test_a_store_that_somebody_uses_stays(path: Path, backup: Path) -> None:
    user = open_writer(path)
    before = names(path)
    with pytest.raises(LeaseHeld, match="roost gateway drain"):
        restore(backup, path, keeping(path))
    assert names(path) == before
    assert user.execute("SELECT count(*) FROM notes").get == 2
    user.close()


def foreign(file: Path) -> None:
    file.unlink()
    connection = apsw.Connection(str(file))
    connection.execute("CREATE TABLE photos (name)")
    connection.close()


def newer(file: Path) -> None:
    connection = apsw.Connection(str(file))
    connection.pragma("user_version", 9_999)
    connection.close()


def torn(file: Path) -> None:
    """Its tables lie where there is nothing."""
    content = bytearray(file.read_bytes())
    content[4096 * 2 :] = bytes(len(content) - 4096 * 2)
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "kind", "told"),
    [
        (foreign, StoreCorrupt, "of another program .name another backup"),
        (newer, StoreUnavailable, "upgrade Roost"),
        (lambda file: file.write_bytes(b"nonsense" * 1_000), StoreCorrupt, "name another backup"),
        (lambda file: file.write_bytes(b""), StoreUnavailable, "no store of Roost in"),
        (lambda file: file.unlink(), StoreUnavailable, "there is no store at"),
        (torn, StoreCorrupt, "is damaged: .*name another backup"),
    ],
)
def test_what_is_no_sound_backup_is_refused_and_the_store_is_as_it_was(
    path: Path, backup: Path, spoil: Callable[[Path], None], kind: type[RoostError], told: str
) -> None:
    spoil(backup)
    before = names(path)
    with pytest.raises(kind, match=told):
        restore(backup, path, keeping(path))
    assert names(path) == before
    assert notes(path) == ["first", "second"]


def test_the_store_is_no_backup_of_itself(path: Path, backup: Path) -> None:
    with pytest.raises(InvalidInput, match="is the store itself"):
        restore(path, path, keeping(path))


def test_a_folder_that_cannot_be_written_to_is_told_and_the_store_is_as_it_was(
    path: Path, backup: Path
) -> None:
    kept = path.parent / "nowhere" / "kept.db"
    with pytest.raises(StoreUnavailable, match="cannot be replaced: No such file"):
        restore(backup, path, lambda: kept)
    assert notes(path) == ["first", "second"]
