"""A file is written anew without a person, or stays as it was."""

from pathlib import Path

import apsw
import pytest

from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.erasing import Person
from roost.core.errors import LeaseHeld, RoostError, StoreUnavailable
from roost.core.leases import Gateway
from roost.core.ledger import Denial
from roost.core.principals import Principal
from roost.core.queries import SearchQuery
from roost.core.search import parse_query
from roost.stores.sql.erasing import Without
from roost.stores.sqlite import SqliteStore, bulk
from roost.stores.sqlite.erasing import erase_in
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.bulk import dump
from tests.contract.scenes import change

EVE = Person.named("telegram:7", (), KNOWN_CHANNELS, "secret")


def long_after() -> int:
    return 2 * NOON


async def nothing(found: Without) -> None:
    """Nothing has to be done before."""


async def prepared(path: Path) -> None:
    """A conversation of the owner, and what was refused to two people."""
    store = SqliteStore.open(path, FakeClock())
    await store.acquire_lease(Gateway(name="g", holder="h"))
    await change(store, builders.opening(builders.session(MAIN), "s-1"), key=MAIN)
    await store.append(MAIN, (builders.said("e-1", "zebra"), builders.answered("e-2", "stripes")))
    for who in ("person:telegram:7", "person:telegram:77"):
        await store.record_denial(
            Denial(at=1, operation="o", principal=Principal.parse(who), rule="r", reason="no")
        )
    await store.close()


def files_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("mode", ["wal", "delete"])
async def test_every_other_row_is_as_it_was_and_so_is_the_form_of_the_file(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "roost.db"
    await prepared(path)
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", mode)
    connection.close()
    found, rows = await erase_in(path, EVE, long_after, nothing)
    assert (rows, found.sessions, found.touched) == (1, frozenset(), frozenset())
    assert files_in(tmp_path) == {"roost.db"}
    connection = apsw.Connection(str(path))
    assert connection.pragma("journal_mode") == mode
    assert connection.execute("SELECT principal FROM denials").get == "person:telegram:77"
    connection.close()
    store = SqliteStore.open(path, FakeClock())
    assert await store.check() == ()
    assert len(await store.entries("s-1")) == 2
    assert len(await store.search(SearchQuery(query=parse_query("zebra")))) == 1
    await store.close()


async def test_a_file_that_somebody_uses_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    await prepared(path)
    with pytest.raises(LeaseHeld):
        await erase_in(path, EVE, lambda: NOON, nothing)
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN; SELECT * FROM sessions").fetchall()
    with pytest.raises(StoreUnavailable, match="locked"):
        await erase_in(path, EVE, long_after, nothing)
    reader.close()
    assert files_in(tmp_path) == {"roost.db"}


async def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("my notes, longer than the head of a database file is " * 9)
    for name in ("notes.db", "absent.db"):
        with pytest.raises(RoostError):
            await erase_in(tmp_path / name, EVE, long_after, nothing)
    assert (tmp_path / "notes.db").read_text().startswith("my notes")


async def test_a_copy_that_is_cut_short_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    await prepared(path)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE entries SET body = 'no body', principal = 'person:telegram:7'")
    connection.close()
    async with bulk.reading(path, long_after) as store:
        before = await dump(store)
    with pytest.raises(RoostError):
        await erase_in(path, EVE, long_after, nothing)
    async with bulk.reading(path, long_after) as store:
        assert await dump(store) == before
    assert files_in(tmp_path) <= {"roost.db", "roost.db-wal", "roost.db-shm"}


@pytest.mark.requirement("F11")
async def test_what_is_found_is_told_before_the_file_forgets_it(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    await prepared(path)

    async def cut_short(found: Without) -> None:
        raise StoreUnavailable("cut short")

    with pytest.raises(StoreUnavailable, match="cut short"):
        await erase_in(path, EVE, long_after, cut_short)
    _, rows = await erase_in(path, EVE, long_after, nothing)
    assert rows == 1
