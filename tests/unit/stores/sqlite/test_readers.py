import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import apsw
import pytest

from roost.core.errors import NotFound, StoreCorrupt, StoreUnavailable
from roost.stores.sqlite.connection import open_writer
from roost.stores.sqlite.readers import WAITING, Readers
from roost.stores.sqlite.store import SqliteOptions

READERS = 2


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[apsw.Connection]:
    writer = open_writer(tmp_path / "roost.db")
    writer.execute("CREATE TABLE notes (text)")
    yield writer
    writer.close()


@pytest.fixture
async def readers(tmp_path: Path, writer: apsw.Connection) -> AsyncIterator[Readers[apsw.Connection]]:
    readers = Readers(tmp_path / "roost.db", SqliteOptions(readers=READERS), lambda connection: connection)
    yield readers
    await readers.close()


def count_notes(rows: apsw.Connection, connection: apsw.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM notes").get)


async def test_a_read_sees_what_is_committed_when_it_begins(
    readers: Readers[apsw.Connection], writer: apsw.Connection
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def twice(rows: apsw.Connection, connection: apsw.Connection) -> tuple[int, int]:
        before = count_notes(rows, connection)
        begun.set()
        go_on.wait()
        return before, count_notes(rows, connection)

    reading = asyncio.gather(readers.run(twice))
    assert await asyncio.to_thread(begun.wait, 10)
    writer.execute("INSERT INTO notes VALUES ('meanwhile')")
    go_on.set()
    (counts,) = await reading
    assert counts == (0, 0)
    assert await readers.run(count_notes) == 1


async def test_a_read_ends_its_transaction_when_it_fails(
    readers: Readers[apsw.Connection], writer: apsw.Connection
) -> None:
    def fail(rows: apsw.Connection, connection: apsw.Connection) -> None:
        count_notes(rows, connection)
        raise NotFound("nothing here")

    for _ in range(READERS * 3):
        with pytest.raises(NotFound):
            await readers.run(fail)
    writer.execute("INSERT INTO notes VALUES ('later')")
    assert await readers.run(count_notes) == 1


async def test_an_error_by_which_the_database_ended_the_transaction_is_the_one_that_is_told(
    readers: Readers[apsw.Connection],
) -> None:
    def meet_damage(rows: apsw.Connection, connection: apsw.Connection) -> None:
        connection.execute("ROLLBACK")
        raise apsw.CorruptError("database disk image is malformed")

    for _ in range(READERS * 3):
        with pytest.raises(StoreCorrupt, match="is damaged: database disk image is malformed"):
            await readers.run(meet_damage)
    assert await readers.run(count_notes) == 0


async def test_an_error_of_the_database_is_translated(readers: Readers[apsw.Connection]) -> None:
    with pytest.raises(StoreCorrupt, match="no such table"):
        await readers.run(lambda rows, connection: connection.execute("SELECT * FROM nowhere").get)


@pytest.mark.requirement("P21")
async def test_any_number_of_reads_opens_few_connections(readers: Readers[apsw.Connection]) -> None:
    seen = await asyncio.gather(*(readers.run(lambda rows, connection: id(connection)) for _ in range(200)))
    assert 1 <= len(set(seen)) <= READERS


async def test_reads_run_beside_each_other(readers: Readers[apsw.Connection]) -> None:
    both_here = threading.Barrier(READERS)
    assert len(await asyncio.gather(*(readers.run(lambda *_: both_here.wait()) for _ in range(READERS)))) == 2


async def test_of_readers_that_rest_the_one_that_read_last_reads_next(
    readers: Readers[apsw.Connection],
) -> None:
    both_here = threading.Barrier(READERS)
    await asyncio.gather(*(readers.run(lambda *_: both_here.wait()) for _ in range(READERS)))
    assert len({await readers.run(lambda rows, connection: id(connection)) for _ in range(20)}) == 1


@pytest.mark.requirement("P21")
async def test_reads_beyond_the_room_wait_although_their_callers_give_up(
    readers: Readers[apsw.Connection],
) -> None:
    all_busy, go_on = threading.Barrier(READERS + 1), threading.Event()

    def take_long(rows: apsw.Connection, connection: apsw.Connection) -> None:
        all_busy.wait(10)
        go_on.wait(10)

    busy = asyncio.gather(*(readers.run(take_long) for _ in range(READERS)))
    await asyncio.to_thread(all_busy.wait, 10)
    for _ in range(2):
        impatient = asyncio.gather(*(readers.run(count_notes) for _ in range(WAITING)))
        await asyncio.sleep(0)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
    assert len(readers._unread) == WAITING - READERS
    go_on.set()
    await busy
    assert await readers.run(count_notes) == 0


async def test_reads_without_room_are_told_when_the_store_closes(readers: Readers[apsw.Connection]) -> None:
    all_busy, go_on = threading.Barrier(READERS + 1), threading.Event()

    def take_long(rows: apsw.Connection, connection: apsw.Connection) -> None:
        all_busy.wait(10)
        go_on.wait(10)

    busy = asyncio.gather(*(readers.run(take_long) for _ in range(READERS)))
    await asyncio.to_thread(all_busy.wait, 10)
    rest = asyncio.gather(*(readers.run(count_notes) for _ in range(WAITING)), return_exceptions=True)
    await asyncio.sleep(0)
    closing = asyncio.gather(readers.close())
    await asyncio.sleep(0)
    go_on.set()
    answers = await rest
    await closing
    await busy
    assert answers[:-READERS] == [0] * (WAITING - READERS)
    assert {type(answer) for answer in answers[-READERS:]} == {StoreUnavailable}


async def test_a_read_after_closing_is_refused(readers: Readers[apsw.Connection]) -> None:
    await readers.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await readers.run(count_notes)


async def test_closing_lets_go_of_threads_and_connections(
    tmp_path: Path, readers: Readers[apsw.Connection], writer: apsw.Connection
) -> None:
    await asyncio.gather(*(readers.run(count_notes) for _ in range(20)))
    await readers.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("roost-reader")]
    writer.close()
    # The last connection of a file takes its log away with it.
    assert os.listdir(tmp_path) == ["roost.db"]
