from collections.abc import Sequence
from pathlib import Path

import pytest

from roost.core.errors import Conflict, LeaseHeld, StoreCorrupt
from roost.stores.sql.bulk import STEP, TABLES, Batches, Table, copy, counts
from roost.stores.sql.rows import Row
from roost.stores.sqlite import bulk
from roost.stores.sqlite.bulk import SqliteBulk
from tests.bulk import dump, filled, no_time


@pytest.fixture
async def full(tmp_path: Path) -> Path:
    await filled(tmp_path / "full.db")
    return tmp_path / "full.db"


async def test_every_row_of_every_table_is_copied_and_compared(full: Path, tmp_path: Path) -> None:
    done: list[int] = []
    async with bulk.source(full, no_time) as source, bulk.target(tmp_path / "new.db", no_time) as target:
        copied = await copy(source, target, done.append)
        assert await dump(source) == await dump(target)
        assert copied == await counts(source)
    assert min(copied.values()) >= 3
    assert max(copied.values()) > STEP
    assert sum(done) == 2 * sum(copied.values())


async def test_a_store_that_is_not_empty_is_not_written_to(full: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    await filled(other)
    with pytest.raises(Conflict, match="rows in gateways"):
        async with bulk.source(full, no_time) as source, bulk.target(other, no_time) as target:
            await copy(source, target, lambda rows: None)


async def test_a_store_that_a_gateway_works_on_is_not_copied(full: Path, tmp_path: Path) -> None:
    async with bulk.source(full, lambda: -1) as source, bulk.target(tmp_path / "new.db", no_time) as target:
        with pytest.raises(LeaseHeld, match=r"name 1 ☂ .holder 1 ☂."):
            await copy(source, target, lambda rows: None)


class Broken(SqliteBulk):
    """A store that does not keep what it was given."""

    def __init__(self, store: SqliteBulk, rows: Sequence[Row]) -> None:
        self._store, self._rows = store, rows
        self.where = "there"
        for name in ("fleet", "columns", "count", "write", "settle"):
            setattr(self, name, getattr(store, name))

    async def rows(self, table: Table, columns: Sequence[str]) -> Batches:
        if table.name != "devices":
            async for rows in self._store.rows(table, columns):
                yield rows
        else:
            yield self._rows


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "row 1 of devices did not arrive"),
        ([("other", "t", "b")], "row 1 of devices did not arrive"),
        ([("name 1 ☂", "tenant 1 ☂", '{"created_at":1,"phase":"done","outcome":null}')], "row 2 of devices"),
    ],
)
async def test_what_did_not_arrive_is_found(full: Path, tmp_path: Path, rows: list[Row], told: str) -> None:
    async with bulk.source(full, no_time) as source, bulk.target(tmp_path / "new.db", no_time) as target:
        with pytest.raises(StoreCorrupt, match=told):
            await copy(source, Broken(target, rows), lambda rows: None)


async def test_rows_that_nobody_wrote_are_found(tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    async with bulk.target(empty, no_time):
        pass
    async with bulk.source(empty, no_time) as source, bulk.target(tmp_path / "new.db", no_time) as target:
        with pytest.raises(StoreCorrupt, match="more rows in devices"):
            await copy(source, Broken(target, [("n", "t", "b")]), lambda rows: None)


def test_tables_come_after_those_they_refer_to() -> None:
    names = [table.name for table in TABLES]
    for earlier, later in (("sessions", "generations"), ("generations", "entries"), ("sessions", "events")):
        assert names.index(earlier) < names.index(later)
