import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from roost.core.errors import Conflict, RoostError, StoreCorrupt, StoreUnavailable
from roost.stores.sqlite.connection import open_beside, open_writer, translated
from roost.stores.sqlite.log import Log
from roost.stores.sqlite.writer import BATCH, WAITING, Writer
from roost.testing.faultydisk import DiskCall, Fault, FaultyDisk

Work = Callable[[], tuple[Any, Callable[[], None]]]


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk("writer")
    yield disk
    disk.unregister()


class Desk:
    """A writer over one table, and what it told the rest of the store."""

    def __init__(self, path: Path, vfs: str | None) -> None:
        self.path = path
        self.connection = open_writer(path, vfs)
        self.connection.execute("CREATE TABLE IF NOT EXISTS notes (text TEXT UNIQUE)")
        self.trouble: Exception | None = None
        self.batches = 0
        self.undone = 0
        self.waiting: list[tuple[str]] = []
        self.told: list[str] = []
        self.writer = Writer(
            self.connection,
            self,
            began=self._begin,
            translate=lambda error: translated(error, path),
            log=Log(self.connection, lambda: open_beside(path, vfs)),
        )

    def _begin(self) -> None:
        self.batches += 1
        if self.trouble is not None:
            raise self.trouble

    def settle(self) -> None:
        waiting, self.waiting = self.waiting, []
        self.connection.executemany("INSERT INTO notes VALUES (?)", waiting)

    def forget(self) -> None:
        self.waiting = []
        self.undone += 1

    def changes(self) -> int:
        return self.connection.total_changes() + len(self.waiting)

    def note(self, text: str) -> Work:
        def work() -> tuple[str, Callable[[], None]]:
            self.connection.execute("INSERT INTO notes VALUES (?)", (text,))
            return text, lambda: self.told.append(text)

        return work

    def note_and_raise(self, text: str, error: BaseException) -> Work:
        def work() -> tuple[str, Callable[[], None]]:
            self.connection.execute("INSERT INTO notes VALUES (?)", (text,))
            raise error

        return work

    def notes(self) -> list[str]:
        """What another connection sees, in order."""
        reader = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return [text for (text,) in reader.execute("SELECT text FROM notes ORDER BY rowid")]
        finally:
            reader.close()

    async def close(self) -> None:
        await self.writer.close()
        self.connection.close()


@pytest.fixture
async def desk(tmp_path: Path, disk: FaultyDisk) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path / "roost.db", disk.name)
    yield desk
    await desk.close()


async def in_one_batch(desk: Desk, disk: FaultyDisk, *works: Work, first: str = "first") -> list[Any]:
    """The answers to verbs that arrive while a commit is under way."""
    with disk.held_syncs() as waiting:
        under_way = asyncio.gather(desk.writer.run(desk.note(first)))
        assert await asyncio.to_thread(waiting.wait, 10)
        rest = asyncio.gather(*map(desk.writer.run, works), return_exceptions=True)
        await asyncio.sleep(0)
    await under_way
    return await rest


async def test_a_verb_answers_its_result(desk: Desk) -> None:
    assert await desk.writer.run(desk.note("a")) == "a"
    assert desk.notes() == ["a"]


async def test_verbs_that_arrive_during_a_commit_share_the_next_one(desk: Desk, disk: FaultyDisk) -> None:
    texts = [f"note {number}" for number in range(100)]
    assert await in_one_batch(desk, disk, *map(desk.note, texts)) == texts
    assert desk.batches == 2
    assert desk.notes() == ["first", *texts]


async def test_a_batch_has_a_limit(desk: Desk, disk: FaultyDisk) -> None:
    await in_one_batch(desk, disk, *(desk.note(f"note {number}") for number in range(BATCH + 1)))
    assert desk.batches == 3


async def test_what_is_urgent_goes_before_what_waits(desk: Desk, disk: FaultyDisk) -> None:
    with disk.held_syncs() as waiting:
        first = asyncio.gather(desk.writer.run(desk.note("first")))
        assert await asyncio.to_thread(waiting.wait, 10)
        rest = asyncio.gather(
            *(desk.writer.run(desk.note(f"note {number}")) for number in range(BATCH + 1)),
            desk.writer.run_first(desk.note("urgent")),
        )
        await asyncio.sleep(0)
    await first
    await rest
    assert desk.notes()[:3] == ["first", "urgent", "note 0"]


async def test_what_is_urgent_wakes_a_writer_that_has_nothing_to_do(desk: Desk) -> None:
    assert await desk.writer.run_first(desk.note("urgent")) == "urgent"


async def test_callers_beyond_the_room_wait_and_are_all_served(desk: Desk, disk: FaultyDisk) -> None:
    with disk.held_syncs() as waiting:
        first = asyncio.gather(desk.writer.run(desk.note("first")))
        assert await asyncio.to_thread(waiting.wait, 10)
        rest = asyncio.gather(
            *(desk.writer.run(desk.note(f"note {number}")) for number in range(WAITING + 10))
        )
        await asyncio.sleep(0)
        assert desk.writer._queue.qsize() < WAITING
    await first
    await rest
    assert desk.notes() == ["first", *(f"note {number}" for number in range(WAITING + 10))]


async def test_callers_without_room_are_told_when_the_store_closes(desk: Desk, disk: FaultyDisk) -> None:
    with disk.held_syncs() as waiting:
        first = asyncio.gather(desk.writer.run(desk.note("first")))
        assert await asyncio.to_thread(waiting.wait, 10)
        rest = asyncio.gather(
            *(desk.writer.run(desk.note(f"note {number}")) for number in range(WAITING)),
            return_exceptions=True,
        )
        await asyncio.sleep(0)
        closing = asyncio.gather(desk.writer.close())
        await asyncio.sleep(0)
    await first
    *served, refused = await rest
    await closing
    assert served == [f"note {number}" for number in range(WAITING - 1)]
    assert isinstance(refused, StoreUnavailable)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_nobody_waits_for_a_writer_that_died(desk: Desk, disk: FaultyDisk) -> None:
    with disk.held_syncs() as waiting:
        first = asyncio.gather(desk.writer.run(desk.note("first")))
        assert await asyncio.to_thread(waiting.wait, 10)
        desk.trouble = ZeroDivisionError("a defect")
        rest = asyncio.gather(
            *(desk.writer.run(desk.note(f"note {number}")) for number in range(BATCH + 1)),
            desk.writer.run_first(desk.note("urgent")),
            return_exceptions=True,
        )
        await asyncio.sleep(0)
    await first
    assert {type(answer) for answer in await rest} == {StoreUnavailable}
    with pytest.raises(StoreUnavailable):
        await desk.writer.run(desk.note("late"))


async def test_an_error_undoes_its_own_verb_and_no_other(desk: Desk, disk: FaultyDisk) -> None:
    before, failed, after = await in_one_batch(
        desk, disk, desk.note("before"), desk.note_and_raise("half", Conflict("no")), desk.note("after")
    )
    assert (before, after) == ("before", "after")
    assert isinstance(failed, Conflict)
    assert desk.notes() == desk.told == ["first", "before", "after"]


async def test_a_batch_is_begun_again_only_for_an_error_that_left_something(
    desk: Desk, disk: FaultyDisk
) -> None:
    def refuse() -> tuple[str, Callable[[], None]]:
        raise Conflict("no")

    refused, noted = await in_one_batch(desk, disk, refuse, desk.note("a"))
    assert (type(refused), noted) == (Conflict, "a")
    assert (desk.batches, desk.undone) == (2, 0)
    refused, _, failed, noted = await in_one_batch(
        desk,
        disk,
        refuse,
        desk.note("b"),
        desk.note_and_raise("half", Conflict("no")),
        desk.note("c"),
        first="second",
    )
    assert (type(refused), type(failed), noted) == (Conflict, Conflict, "c")
    assert desk.batches == 5
    assert desk.notes() == ["first", "a", "second", "b", "c"]


async def test_a_row_that_waits_and_cannot_be_written_fails_its_own_verb_only(
    desk: Desk, disk: FaultyDisk
) -> None:
    def later(text: str) -> Work:
        def work() -> tuple[str, Callable[[], None]]:
            desk.waiting.append((text,))
            return text, lambda: desk.told.append(text)

        return work

    answers = await in_one_batch(desk, disk, later("a"), later("first"), desk.note("b"), later("c"))
    assert [answer for answer in answers if isinstance(answer, str)] == ["a", "b", "c"]
    assert isinstance(answers[1], StoreCorrupt)
    assert desk.notes() == ["first", "a", "b", "c"]


async def test_an_error_of_the_database_reaches_its_caller_translated(desk: Desk) -> None:
    await desk.writer.run(desk.note("a"))
    with pytest.raises(StoreCorrupt, match="UNIQUE"):
        await desk.writer.run(desk.note("a"))


async def test_an_error_nobody_foresaw_reaches_its_caller_as_it_is(desk: Desk) -> None:
    with pytest.raises(ZeroDivisionError):
        await desk.writer.run(desk.note_and_raise("a", ZeroDivisionError()))
    assert desk.notes() == []


async def test_a_caller_hears_only_after_the_commit_is_on_the_disk(desk: Desk, disk: FaultyDisk) -> None:
    with disk.held_syncs() as waiting:
        told = asyncio.gather(desk.writer.run(desk.note("a")))
        assert await asyncio.to_thread(waiting.wait, 10)
        assert not told.done()
        assert desk.notes() == []
        assert desk.told == []
    await told
    assert desk.notes() == desk.told == ["a"]


async def test_a_caller_that_stops_waiting_does_not_undo_its_verb(desk: Desk, disk: FaultyDisk) -> None:
    with disk.held_syncs() as waiting:
        first = asyncio.gather(desk.writer.run(desk.note("first")))
        assert await asyncio.to_thread(waiting.wait, 10)
        impatient = asyncio.gather(desk.writer.run(desk.note("queued")))
        await asyncio.sleep(0)
        for caller in (first, impatient):
            caller.cancel()
    await desk.writer.run(desk.note("last"))
    assert desk.notes() == desk.told == ["first", "queued", "last"]


async def test_nobody_is_told_of_what_was_not_committed(desk: Desk, disk: FaultyDisk) -> None:
    with pytest.raises(Conflict):
        await desk.writer.run(desk.note_and_raise("a", Conflict("no")))
    disk.break_down(Fault(code=apsw.SQLITE_FULL, calls=frozenset({DiskCall.WRITE})))
    with pytest.raises(StoreUnavailable):
        await desk.writer.run(desk.note("a"))
    assert desk.told == []


async def test_a_commit_that_fails_fails_every_caller_of_its_batch(desk: Desk, disk: FaultyDisk) -> None:
    await desk.writer.run(desk.note("before"))
    disk.break_down(Fault(code=apsw.SQLITE_IOERR_FSYNC, calls=frozenset({DiskCall.SYNC}), at=2))
    answers = await in_one_batch(
        desk, disk, desk.note("a"), desk.note_and_raise("half", Conflict("no")), desk.note("b")
    )
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 3
    assert await desk.writer.run(desk.note("after")) == "after"
    assert desk.notes() == ["before", "first", "after"]


async def test_a_database_locked_by_another_process_is_told_and_tried_again(desk: Desk) -> None:
    desk.connection.set_busy_timeout(1)
    other = apsw.Connection(str(desk.path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        await desk.writer.run(desk.note("a"))
    other.execute("ROLLBACK")
    other.close()
    assert await desk.writer.run(desk.note("a")) == "a"


async def test_a_batch_that_cannot_see_the_file_leaves_no_transaction_behind(desk: Desk) -> None:
    desk.trouble = apsw.exception_for(apsw.SQLITE_IOERR_READ)
    with pytest.raises(StoreUnavailable):
        await desk.writer.run(desk.note("a"))
    desk.trouble = None
    assert await desk.writer.run(desk.note("a")) == "a"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Conflict("no"), StoreUnavailable),
        (apsw.exception_for(apsw.SQLITE_FULL), StoreUnavailable),
        (apsw.exception_for(apsw.SQLITE_CORRUPT), StoreCorrupt),
        (StoreCorrupt("a stored value cannot be read"), StoreCorrupt),
    ],
)
async def test_a_transaction_that_ended_under_a_verb_fails_its_batch_with_what_ended_it(
    desk: Desk, disk: FaultyDisk, error: Exception, told: type[RoostError]
) -> None:
    def work() -> tuple[Any, Callable[[], None]]:
        desk.connection.execute("ROLLBACK")
        raise error

    answers = await in_one_batch(desk, disk, desk.note("before"), work, desk.note("after"))
    assert [type(answer) for answer in answers] == [told] * 3
    assert desk.notes() == ["first"]
    assert await desk.writer.run(desk.note("again")) == "again"


async def test_closing_finishes_what_was_queued_and_takes_no_more(desk: Desk, disk: FaultyDisk) -> None:
    with disk.held_syncs() as waiting:
        first = asyncio.gather(desk.writer.run(desk.note("a")))
        assert await asyncio.to_thread(waiting.wait, 10)
        queued = asyncio.gather(*(desk.writer.run(desk.note(text)) for text in "bc"))
        await asyncio.sleep(0)
        closing = asyncio.gather(desk.writer.close())
        await asyncio.sleep(0)
        with pytest.raises(StoreUnavailable, match="closed"):
            await desk.writer.run(desk.note("late"))
    await closing
    assert [*await first, *await queued] == list("abc")
    assert desk.notes() == list("abc")
    with pytest.raises(StoreUnavailable, match="closed"):
        await desk.writer.run_first(desk.note("late"))
    await desk.writer.close()


async def test_closing_an_idle_writer_ends_its_thread(desk: Desk) -> None:
    await desk.writer.close()
    assert "roost-writer" not in {thread.name for thread in threading.enumerate()}


async def test_callers_of_several_loops_are_each_told_on_their_own(desk: Desk) -> None:
    def elsewhere() -> tuple[str, int]:
        async def call() -> tuple[str, int]:
            return await desk.writer.run(desk.note("elsewhere")), threading.get_ident()

        return asyncio.run(call())

    here, (there, thread) = await asyncio.gather(
        desk.writer.run(desk.note("here")), asyncio.to_thread(elsewhere)
    )
    assert (here, there) == ("here", "elsewhere")
    assert thread != threading.get_ident()


async def test_a_loop_that_is_gone_stops_nobody_else(desk: Desk, disk: FaultyDisk) -> None:
    async def leave() -> None:
        caller = asyncio.gather(desk.writer.run(desk.note("orphan")))
        assert await asyncio.to_thread(waiting.wait, 10)
        caller.cancel()

    with disk.held_syncs() as waiting:
        await asyncio.to_thread(lambda: asyncio.run(leave()))
    assert await desk.writer.run(desk.note("here")) == "here"
    assert desk.notes() == ["orphan", "here"]
