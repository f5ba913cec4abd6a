"""The writer thread. Verbs that arrive while a commit is under way share the next one.

A verb's failure undoes it alone: a batch in which one fails after it wrote is begun again with a savepoint around
each. Not at once, because every savepoint makes the search index write out what it holds. Rows that nobody reads
meanwhile are written together before COMMIT (`Waiting`). A caller hears only after
COMMIT, and before the log is looked after.
Callers beyond `WAITING` wait for room; urgent verbs (a lease runs out while others queue) go first.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, cast

import apsw

from roost.core.errors import RoostError, StoreCorrupt, StoreUnavailable
from roost.stores.sqlite.connection import ENGINE_ERRORS, EngineError, roll_back
from roost.stores.sqlite.log import Log

BATCH = 256
WAITING = 4_096


Tell: TypeAlias = Callable[[], None]
Work: TypeAlias = Callable[[], tuple[Any, Tell]]


class Waiting(Protocol):
    """Rows of the transaction under way that are not written yet."""

    def settle(self) -> None:
        """Write them."""

    def forget(self) -> None:
        """Drop them, with all that is remembered of the file: it was rolled back, or may be another's."""

    def changes(self) -> int:
        """A number that grows with every row that a verb writes, whether it waits or not."""


@dataclass(slots=True)
class Job:
    """One verb on its way through the writer; `work` answers its result, and what is done on the loop once it is committed,
    before its caller goes on."""

    work: Work
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    room: asyncio.Semaphore | None = None
    result: Any = None
    tell: Tell | None = None
    error: BaseException | None = field(default=None)


# Not a job: makes a writer that waits look at the urgent ones.
_LOOK = cast(Job, object())


class Writer:
    """Owns the writing connection and the thread it lives on."""

    def __init__(
        self,
        connection: apsw.Connection,
        waiting: Waiting,
        began: Callable[[], None],
        translate: Callable[[EngineError], Exception],
        log: Log,
    ) -> None:
        self._connection = connection
        self._log = log
        self._waiting = waiting
        self._began = began
        self._translate = translate
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._urgent: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(WAITING)
        # Nobody comes in while it is shut: who came in before is either served or told.
        self._door = threading.Lock()
        self._closed = False
        self._shorten_first = False
        self._thread = threading.Thread(target=self._serve, name="roost-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Work) -> Any:
        """Queue a verb and wait for its commit. A caller that stops waiting does not undo it."""
        await self._room.acquire()
        return await self._submit(work, self._room)

    async def run_first(self, work: Work) -> Any:
        """Run a verb before those that wait."""
        return await self._submit(work, None)

    async def run_and_shorten(self, work: Work) -> Any:
        """Run a verb, and hear of it when the log has been moved into the file as well, as far as readers let it."""

        def shortening() -> tuple[Any, Tell]:
            self._shorten_first = True
            return work()

        return await self.run(shortening)

    def _submit(self, work: Work, room: asyncio.Semaphore | None) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        job = Job(work, loop, loop.create_future(), room)
        with self._door:
            if not self._closed:
                if room is None:
                    self._urgent.put(job)
                self._queue.put(_LOOK if room is None else job)
                return job.future
        if room is not None:
            room.release()
        raise StoreUnavailable("the store is closed")

    async def close(self) -> None:
        """Finish what was queued, then end the thread."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        batch: list[Job] = []
        try:
            last = False
            while not last:
                batch, last = self._gather()
                if batch:
                    self._commit(batch)
                    if self._shorten_first:
                        self._shorten_first = False
                        self._log.shorten()
                    _resolve(batch)
                    batch = []
                    self._log.look_after()
        except BaseException as error:  # the thread's root: nobody may wait for a writer that is gone
            with self._door:
                self._closed = True
            self._abandon(batch, error)
            raise

    def _gather(self) -> tuple[list[Job], bool]:
        """The next jobs, urgent ones first, and whether they are the last."""
        waiting = [self._queue.get()]
        with suppress(queue.Empty):
            while len(waiting) < BATCH:
                waiting.append(self._queue.get_nowait())
        urgent = []
        with suppress(queue.Empty):
            while True:
                urgent.append(self._urgent.get_nowait())
        jobs = [job for job in waiting if job is not None and job is not _LOOK]
        return [*urgent, *jobs], None in waiting

    def _abandon(self, batch: list[Job], error: BaseException) -> None:
        """Tell everybody who waits that the writer has stopped."""
        with suppress(queue.Empty):
            while True:
                batch.append(self._urgent.get_nowait())
        with suppress(queue.Empty):
            while True:
                job = self._queue.get_nowait()
                if job is not None and job is not _LOOK:
                    batch.append(job)
        stopped = StoreUnavailable(f"the writer stopped: {error!r}", hint="restart the gateway")
        for job in batch:
            job.error = stopped
        _resolve(batch)

    def _commit(self, batch: list[Job]) -> None:
        try:
            self._begin()
            if not (all(self._attempt(job) for job in batch) and self._settled()):
                self._start_over()
                for job in batch:
                    self._attempt_apart(job)
            self._connection.execute("COMMIT")
        except apsw.Error as error:
            self._fail(batch, self._translate(error))
        except RoostError as error:
            self._fail(batch, error)

    def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._began()

    def _attempt(self, job: Job) -> bool:
        """Run a verb; False when it failed and left something behind."""
        before = self._waiting.changes()
        try:
            job.result, job.tell = job.work()
        except BaseException as error:  # noqa: BLE001 — the verb's root: its caller gets what was raised
            self._take_failure(job, error)
            return self._waiting.changes() == before
        return True

    def _settled(self) -> bool:
        """Write what waits; False when a row cannot be, and nobody knows yet whose."""
        try:
            self._waiting.settle()
        except ENGINE_ERRORS:
            return False
        return True

    def _attempt_apart(self, job: Job) -> None:
        """Run a verb so that its failure undoes it alone."""
        job.error = None
        self._connection.execute("SAVEPOINT verb")
        try:
            job.result, job.tell = job.work()
            self._waiting.settle()
        except BaseException as error:  # noqa: BLE001 — the verb's root: its caller gets what was raised
            self._take_failure(job, error)
            self._waiting.forget()
            self._connection.execute("ROLLBACK TO verb")
        self._connection.execute("RELEASE verb")

    def _take_failure(self, job: Job, error: BaseException) -> None:
        if not self._connection.in_transaction:
            # SQLite itself ended the transaction: nothing of this batch can be committed.
            if isinstance(error, apsw.Error | StoreCorrupt):
                raise error
            raise StoreUnavailable(
                "the transaction was lost", hint="try again; nothing of this request was written"
            ) from error
        job.error = self._translate(error) if isinstance(error, ENGINE_ERRORS) else error

    def _start_over(self) -> None:
        self._waiting.forget()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._begin()

    def _fail(self, batch: list[Job], error: Exception) -> None:
        self._waiting.forget()
        # If even this fails, the next batch fails at its BEGIN and comes here again.
        roll_back(self._connection)
        for job in batch:
            job.error = error


def _resolve(batch: list[Job]) -> None:
    """Tell each caller on its own loop, one call a loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in batch:
        loops.setdefault(job.loop, []).append(job)
    for loop, jobs in loops.items():
        # A loop that was closed has nobody left to tell.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_tell, jobs)


def _tell(jobs: list[Job]) -> None:
    for job in jobs:
        if job.room is not None:
            job.room.release()
        # Its caller goes on before others who are woken by what it did.
        if not job.future.done():
            if job.error is not None:
                job.future.set_exception(job.error)
            else:
                job.future.set_result(job.result)
        if job.error is None and job.tell is not None:
            job.tell()
