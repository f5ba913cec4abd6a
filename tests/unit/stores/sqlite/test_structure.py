"""What is refused when a store is opened, because it is not made as the steps of this Roost make one."""

from pathlib import Path

import apsw
import pytest

from roost.core.errors import StoreCorrupt
from roost.core.leases import Gateway
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.bulk import reading
from roost.stores.sqlite.store import SqliteOptions
from roost.testing.clock import FakeClock

DAMAGED = SqliteOptions(damaged=True)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A store that was made and closed."""
    path = tmp_path / "roost.db"
    await SqliteStore.open(path, FakeClock()).close()
    return path


def changed(path: Path, statement: str) -> bytes:
    connection = apsw.Connection(str(path))
    connection.execute(statement).fetchall()
    connection.close()
    return path.read_bytes()


OTHERWISE = {
    "a column more": ("ALTER TABLE runs ADD COLUMN mood TEXT NOT NULL DEFAULT ''", "runs"),
    "a column less": ("ALTER TABLE sessions DROP COLUMN preview", "sessions"),
    "another index": ("DROP INDEX runs_active; CREATE INDEX runs_active ON runs (state)", "runs_active"),
    "an index more": ("CREATE UNIQUE INDEX runs_by_mood ON runs (state)", "runs_by_mood"),
    "a trigger": ("CREATE TRIGGER late AFTER INSERT ON runs BEGIN SELECT 1; END", "late"),
}


@pytest.mark.parametrize("options", [SqliteOptions(), DAMAGED], ids=["to serve", "to mend"])
@pytest.mark.parametrize(("statement", "named"), OTHERWISE.values(), ids=OTHERWISE.keys())
def test_a_store_of_another_build_is_refused_when_it_is_opened_and_left_alone(
    path: Path, statement: str, named: str, options: SqliteOptions
) -> None:
    before = changed(path, statement)
    with pytest.raises(
        StoreCorrupt, match=rf"of another build of Roost.*schema \d+ and differs from that in {named}\b"
    ) as refused:
        SqliteStore.open(path, FakeClock(), options=options)
    assert "export" in refused.value.hint
    assert path.read_bytes() == before


async def test_a_store_of_another_build_is_not_copied_either(path: Path) -> None:
    changed(path, "ALTER TABLE runs ADD COLUMN mood TEXT")
    with pytest.raises(StoreCorrupt, match="another build"):
        async with reading(path, FakeClock().now):
            """It does not come to this."""


@pytest.mark.parametrize("missing", ["INDEX runs_active", "TABLE entry_search", "TABLE denials"])
async def test_a_store_with_a_part_missing_is_opened_to_be_mended_and_then_to_serve(
    path: Path, missing: str
) -> None:
    changed(path, f"DROP {missing}")
    with pytest.raises(StoreCorrupt, match=f"damaged: it lacks {missing.split()[1]}.*roost repair"):
        SqliteStore.open(path, FakeClock())
    store = SqliteStore.open(path, FakeClock(), options=DAMAGED)
    await store.acquire_lease(Gateway(name="here", holder="1"))
    await store.repair()
    await store.close()
    await SqliteStore.open(path, FakeClock()).close()


async def test_what_others_keep_beside_the_tables_is_nobodys_business(path: Path) -> None:
    changed(path, "CREATE TABLE _replica (seq); CREATE INDEX _replica_seq ON _replica (seq); ANALYZE")
    changed(path, "CREATE INDEX by_what_was_said ON entries (role)")
    store = SqliteStore.open(path, FakeClock())
    await store.close()
