"""Backups are made, remembered and found again."""

import stat
from pathlib import Path

import pytest

from roost.app.backups import Restored, back_up, database_of, known_backups, restore_store
from roost.app.opening import open_store
from roost.config import load
from roost.core.errors import InvalidInput


async def test_a_backup_lies_in_its_folder_or_where_it_is_wanted_and_is_known(tmp_path: Path) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path / "home")})
    async with open_store(loaded):
        own = await back_up(loaded, None)
    there = await back_up(loaded, tmp_path / "there.db")
    assert own.parent == tmp_path / "home" / "backups"
    assert stat.S_IMODE(own.stat().st_mode) == stat.S_IMODE(there.stat().st_mode) == 0o600
    with pytest.raises(InvalidInput, match="exists already"):
        await back_up(loaded, there)
    assert known_backups(loaded) == (own, there)
    there.unlink()
    assert known_backups(loaded) == (own, there)


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("name", ["a\nb.db", "a\u2028b.db", "a\x85b.db", '"a".db', " a ü .db"])
async def test_a_backup_is_known_however_its_file_is_called(tmp_path: Path, name: str) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path / "home")})
    async with open_store(loaded):
        pass
    made = await back_up(loaded, tmp_path / name)
    assert known_backups(loaded) == (made,)
    made.unlink()
    with pytest.raises(InvalidInput, match="cannot be written"):
        await back_up(loaded, tmp_path / "nowhere" / name)
    assert known_backups(loaded) == (made,)


async def test_a_backup_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path / "home")})
    async with open_store(loaded):
        pass
    with pytest.raises(InvalidInput, match="cannot be stored"):
        await back_up(loaded, tmp_path / "\udcff.db")
    assert known_backups(loaded) == ()


async def test_a_backup_that_failed_is_not_remembered_and_one_of_before_that_was_moved_is(
    tmp_path: Path,
) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path / "home")})
    async with open_store(loaded):
        pass
    with pytest.raises(InvalidInput, match="cannot be written"):
        await back_up(loaded, tmp_path / "nowhere" / "x.db")
    assert known_backups(loaded) == ()
    folder = tmp_path / "disk"
    folder.mkdir()
    made = await back_up(loaded, folder / "made.db")
    folder.rename(tmp_path / "unplugged")
    with pytest.raises(InvalidInput, match="cannot be written"):
        await back_up(loaded, made)
    assert known_backups(loaded) == (made,)


def test_without_backups_none_is_known(tmp_path: Path) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path)})
    assert known_backups(loaded) == ()
    assert database_of(loaded) == tmp_path / "roost.db"


def test_a_store_on_a_server_has_no_file(tmp_path: Path) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": "postgresql://db.example/roost"})
    with pytest.raises(InvalidInput, match="roost db copy"):
        database_of(loaded)


async def test_a_backup_is_restored_and_the_store_it_replaces_is_known_like_one(tmp_path: Path) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path)})
    backup = await back_up(loaded, None)
    done = await restore_store(loaded, backup)
    assert done.path == tmp_path / "roost.db"
    assert done.kept is not None
    assert done.kept.parent == tmp_path
    assert known_backups(loaded) == (backup, done.kept)
    done.path.unlink()
    assert await restore_store(loaded, backup) == Restored(path=done.path, kept=None)
    assert known_backups(loaded) == (backup, done.kept)


async def test_a_store_on_a_server_is_restored_by_the_tools_of_the_server(tmp_path: Path) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": "postgresql://db.example/roost"})
    with pytest.raises(InvalidInput, match="with PostgreSQL's own tools"):
        await restore_store(loaded, tmp_path / "backup.db")
