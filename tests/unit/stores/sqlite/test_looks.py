import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import apsw
import pytest

from roost.core.errors import NotFound
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.listing import Overview
from roost.core.queries import SessionQuery
from roost.core.sessions import Session
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.connection import open_writer
from roost.stores.sqlite.looks import MOST_ROWS, PATIENCE_S, STEPS, Looks, NotALook
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from roost.testing.builders import MAIN, generation, opening, session
from roost.testing.clock import FakeClock

LABOUR = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT count(*) FROM n"
)


class Time:
    """Stands still, but for what the test or a glance at it adds."""

    def __init__(self) -> None:
        self.at = 0.0
        self.each_glance = 0.0

    def __call__(self) -> float:
        self.at += self.each_glance
        return self.at


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[apsw.Connection]:
    writer = open_writer(tmp_path / "roost.db")
    yield writer
    writer.close()


@pytest.fixture
def looks(tmp_path: Path, writer: apsw.Connection, time: Time) -> Iterator[Looks]:
    looks = Looks(tmp_path / "roost.db", None, lambda: 0, time)
    yield looks
    looks.close()


def add_sessions(writer: apsw.Connection, numbers: range) -> None:
    tables = SqliteTables(writer, "default", lambda: 0)
    with writer:
        for number in numbers:
            key = SessionKey.named("main", f"chat-{number}")
            drive(tables.insert_session(session(key, at=number)))
            drive(tables.insert_generation(generation(key, f"id-{number}")))


def sessions(tables: SqliteTables) -> list[Session]:
    return [*drive(tables.sessions(SessionQuery(limit=10_000)))]


def labour(tables: SqliteTables) -> object:
    return drive(tables._row(LABOUR, ()))


def test_a_short_read_is_done_on_the_thread_that_asks(looks: Looks, writer: apsw.Connection) -> None:
    add_sessions(writer, range(3))
    assert len(looks.read(sessions)) == 3
    assert looks.read(lambda tables: threading.get_ident()) == threading.get_ident()


def test_a_look_sees_one_moment_and_the_next_look_what_came_since(
    looks: Looks, writer: apsw.Connection
) -> None:
    def twice(tables: SqliteTables) -> tuple[int, int]:
        before = len(sessions(tables))
        add_sessions(writer, range(2))
        return before, len(sessions(tables))

    assert looks.read(twice) == (0, 0)
    assert len(looks.read(sessions)) == 2


def test_a_read_that_takes_long_is_given_up_and_its_view_with_it(
    looks: Looks, writer: apsw.Connection, time: Time
) -> None:
    assert looks.read(labour) == (1_000,)
    # The engine counts the steps of a statement over all its uses: sooner or later a glance falls on the end of a view.
    time.each_glance = 2 * PATIENCE_S
    for _ in range(5 * STEPS):
        with pytest.raises(NotALook):
            looks.read(labour)
    time.each_glance = 0
    add_sessions(writer, range(2))
    assert len(looks.read(sessions)) == 2


def test_rows_that_took_long_to_come_are_not_made_into_anything(
    looks: Looks, writer: apsw.Connection, time: Time
) -> None:
    add_sessions(writer, range(2))

    def slow_disk(tables: SqliteTables) -> list[Session]:
        time.at += 2 * PATIENCE_S
        return sessions(tables)

    with pytest.raises(NotALook):
        looks.read(slow_disk)
    assert len(looks.read(sessions)) == 2


def test_many_rows_are_no_look(looks: Looks, writer: apsw.Connection) -> None:
    add_sessions(writer, range(MOST_ROWS))
    assert len(looks.read(sessions)) == MOST_ROWS
    add_sessions(writer, range(MOST_ROWS, MOST_ROWS + 1))
    with pytest.raises(NotALook):
        looks.read(sessions)
    assert looks.read(lambda tables: drive(tables.session_by_id("id-1"))) is not None


def test_what_a_read_itself_refuses_is_told(looks: Looks) -> None:
    def refuse(tables: SqliteTables) -> None:
        raise NotFound("nothing here")

    with pytest.raises(NotFound):
        looks.read(refuse)


def test_what_the_database_refuses_is_left_to_who_can_tell_it(looks: Looks) -> None:
    with pytest.raises(NotALook) as left:
        looks.read(lambda tables: drive(tables._row("SELECT * FROM nowhere", ())))
    assert isinstance(left.value.__cause__, apsw.SQLError)
    assert looks.read(sessions) == []


def test_a_file_that_is_locked_is_not_waited_for(looks: Looks, writer: apsw.Connection) -> None:
    # Whoever looks waits for nobody: with the patience of a reader this would take seconds, and the loop with it.
    assert looks.read(sessions) == []
    looks.close()
    path = Path(writer.filename)
    alone = Looks(path, None, lambda: 0)
    writer.pragma("locking_mode", "EXCLUSIVE")
    add_sessions(writer, range(1))
    with pytest.raises(NotALook) as left:
        alone.read(sessions)
    assert isinstance(left.value.__cause__, apsw.BusyError)
    alone.close()


async def test_of_two_threads_one_looks(looks: Looks) -> None:
    looking, go_on = threading.Event(), threading.Event()

    def hold(tables: SqliteTables) -> bool:
        looking.set()
        return go_on.wait(10)

    other = asyncio.gather(asyncio.to_thread(looks.read, hold))
    assert await asyncio.to_thread(looking.wait, 10)
    with pytest.raises(NotALook):
        looks.read(sessions)
    go_on.set()
    (held,) = await other
    assert held
    assert looks.read(sessions) == []


def test_a_closed_one_looks_at_nothing(looks: Looks) -> None:
    looks.close()
    with pytest.raises(NotALook):
        looks.read(sessions)


# -- in the store ------------------------------------------------------------------------------------


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "store.db", FakeClock())
    await store.acquire_lease(Gateway(name="here", holder="process-1"))
    await store.change_session(MAIN, lambda snapshot: (opening(session(), "s-1"),))
    yield store
    await store.close()


async def test_a_list_of_few_is_made_where_it_is_asked_for_and_one_of_many_on_a_thread_of_its_own(
    store: SqliteStore,
) -> None:
    def reads_on(overview: Overview) -> tuple[int, bool]:
        return len(overview.page.rows), threading.current_thread() is threading.main_thread()

    async def read() -> tuple[int, bool]:
        return await store.overview(SessionQuery(limit=1_000), children=1, show=reads_on)

    # A busy machine may take the time of any one read, not of each of them.
    few = {await read() for _ in range(50)}
    assert (1, True) in few
    for number in range(MOST_ROWS):
        key = SessionKey.named("main", f"chat-{number}")
        await store.change_session(key, lambda _, key=key: (opening(session(key), f"of-{key}"),))  # type: ignore[misc]
    many = MOST_ROWS + 1
    assert await read() == (many, False)


async def test_who_reads_again_and_again_lets_others_go_on(store: SqliteStore) -> None:
    """Which fails where a read never waits: the others would come after all of them."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while turns < 100:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(other())
        for number in range(3):
            await store.session(MAIN)
            assert turns > number
