from pathlib import Path

import apsw
import pytest

from roost.core.errors import StoreCorrupt, StoreUnavailable
from roost.stores.sql.bulk import SEARCH, TABLES, copy
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.bulk import reading, source, target
from roost.testing.clock import FakeClock
from tests.bulk import filled, no_time

# SQLite's own, such as what it knows of the indexes, are made with the store.
NAMES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE ? AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"


async def test_no_table_is_forgotten(tmp_path: Path) -> None:
    await SqliteStore.open(tmp_path / "s.db", FakeClock()).close()
    connection = apsw.Connection(str(tmp_path / "s.db"))
    names = {str(row[0]) for row in connection.execute(NAMES, (f"{SEARCH}%",))}
    connection.close()
    assert names == {table.name for table in TABLES}


async def test_what_was_copied_is_a_store_that_can_be_searched(tmp_path: Path) -> None:
    await filled(tmp_path / "a.db")
    async with source(tmp_path / "a.db", no_time) as ours, target(tmp_path / "b.db", no_time) as theirs:
        await copy(ours, theirs, lambda rows: None)
    connection = apsw.Connection(str(tmp_path / "b.db"))
    found = connection.execute("SELECT rowid FROM entry_search WHERE entry_search MATCH 'zebra'").fetchall()
    connection.close()
    assert found == [(1,), (2,), (3,)]
    assert (tmp_path / "b.db").stat().st_mode & 0o077 == 0


async def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(rows: int) -> None:
        raise RuntimeError("enough")

    await filled(tmp_path / "a.db")
    there = tmp_path / "there.db"
    async with target(there, no_time):
        pass
    for file in (tmp_path / "new.db", there):
        with pytest.raises(RuntimeError):
            async with source(tmp_path / "a.db", no_time) as ours, target(file, no_time) as theirs:
                await copy(ours, theirs, fail)
    assert not (tmp_path / "new.db").exists()
    async with reading(there, no_time) as left:
        assert [await left.count(table) for table in TABLES] == [0] * len(TABLES)


async def test_nobody_writes_to_a_store_while_it_is_copied(tmp_path: Path) -> None:
    await filled(tmp_path / "a.db")
    async with source(tmp_path / "a.db", no_time):
        other = apsw.Connection(str(tmp_path / "a.db"))
        with pytest.raises(apsw.BusyError):
            other.execute("DELETE FROM gateways")
        other.close()


async def test_a_store_that_is_not_there_or_not_ours_or_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="there is no store"):
        async with source(tmp_path / "nowhere.db", no_time):
            pass
    foreign = apsw.Connection(str(tmp_path / "foreign.db"))
    foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    with pytest.raises(StoreCorrupt, match="another program"):
        async with source(tmp_path / "foreign.db", no_time):
            pass
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreUnavailable, match=r"there is no store of Roost in .*empty\.db"):
        async with source(tmp_path / "empty.db", no_time):
            pass


async def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreCorrupt):
        async with reading(tmp_path / "bad.db", no_time):
            pass
