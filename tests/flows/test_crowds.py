"""How the work of a list and of a history grows with what there is: counted in steps of the database, not in time."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from roost.core.entries import Entry
from roost.core.keys import SessionKey
from roost.core.queries import Cursor, HistoryQuery, SessionQuery
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.connection import open_writer
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from roost.testing import builders
from roost.testing.builders import generation, said
from roost.testing.clock import NOON, FakeClock
from tests.scale import count

FEW, MANY = 200, count(4_000, 100_000)
SHORT, LONG = 500, count(4_000, 50_000)
LONG_ONE = SessionKey.named("main", "long")

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("crowd") / "roost.db"
    _fill(file, MANY, LONG)
    return file


def _fill(file: Path, sessions: int, entries: int) -> None:
    connection = open_writer(file)
    tables = SqliteTables(connection, "default", lambda: NOON)
    connection.execute("BEGIN")
    for number in range(sessions):
        key = SessionKey.named("main", f"s{number}")
        drive(tables.insert_session(builders.session(key, at=NOON + number)))
    drive(tables.insert_session(builders.session(LONG_ONE)._replace(session_id="long-1")))
    drive(tables.insert_generation(generation(LONG_ONE, "long-1")))
    drafts = [said(f"e{number}", f"line {number}") for number in range(1, entries + 1)]
    rows = [
        Entry(session_id="long-1", seq=seq, id=one.id, body=one.body) for seq, one in enumerate(drafts, 1)
    ]
    drive(tables.insert_entries(LONG_ONE, rows))
    connection.execute("COMMIT")
    connection.close()


def _steps(file: Path, read: Callable[[SqliteTables], object]) -> int:
    """How many the database takes."""
    connection, taken = apsw.Connection(str(file)), 0

    def step() -> bool:
        nonlocal taken
        taken += 1
        return False

    connection.set_progress_handler(step, 1)
    read(SqliteTables(connection, "default", lambda: NOON))
    connection.close()
    return taken


READS: dict[str, Callable[[SqliteTables], object]] = {
    "the first page": lambda tables: drive(tables.sessions(SessionQuery(limit=100))),
    "a later page": lambda tables: drive(
        tables.sessions(SessionQuery(limit=100, after=Cursor(updated=NOON + 150, key="x")))
    ),
    "the newest of a history": lambda tables: drive(
        tables.entries_before(generation(LONG_ONE, "long-1"), None, 200, tools=True)
    ),
}


@pytest.mark.requirement("P17")
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_page_takes_as_many_steps_among_many_as_among_few(
    crowded: Path, tmp_path: Path, read: Callable[[SqliteTables], object]
) -> None:
    _fill(tmp_path / "few.db", FEW, SHORT)
    few, many = _steps(tmp_path / "few.db", read), _steps(crowded, read)
    assert 0 < many <= 1.5 * few


@pytest.mark.requirement("P17")
async def test_lists_and_histories_are_read_while_somebody_writes(crowded: Path) -> None:
    store = SqliteStore.open(crowded, FakeClock())
    other = apsw.Connection(str(crowded))
    other.execute("BEGIN IMMEDIATE")
    try:
        page = await store.list_sessions(SessionQuery(limit=100))
        history = await store.history(HistoryQuery(key=LONG_ONE, limit=200))
    finally:
        other.execute("ROLLBACK")
        other.close()
        await store.close()
    assert (len(page.rows), len(history.entries)) == (100, 200)
